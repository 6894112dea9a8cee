#include "stages/build/memory/plan_memory.h"

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>

#include "common/ir/module.h"
#include "common/omfile/om_format.h"
#include "common/text/text.h"

namespace sluice {
namespace {

// A graph, its tasks and its plan. Nodes of aicore launch a kernel.
class Planned {
 public:
  explicit Planned(const std::string& text)
      : module_(parse_module("sluice 1 lowered\n" + text, "test").value()) {
    for (Node& node : module_.root().nodes()) {
      if (node.placement.engine == EngineId::kAicore) node.placement.kernel = 0;
    }
    list_ = make_tasks(module_.root()).value();
    const std::vector<uint64_t> offsets(module_.segment_count(), 640);
    auto planned = plan_memory(module_.root(), list_, offsets);
    if (planned)
      plan_ = std::move(*planned);
    else
      error_ = std::move(planned).error();
  }

  const MemoryPlan& plan() const { return plan_; }
  const std::optional<Error>& error() const { return error_; }
  const ValuePlace& at(const std::string& name) const {
    for (const Value& value : module_.root().values()) {
      if (!value.is_erased() && value.name() == name)
        return plan_.places[static_cast<size_t>(value.id())];
    }
    throw std::runtime_error("no value " + name);
  }
  bool share(const std::string& a, const std::string& b) const {
    return at(a).place == at(b).place && at(a).binding == at(b).binding &&
           at(a).offset == at(b).offset && at(a).buffer == at(b).buffer;
  }

 private:
  Module module_;
  TaskList list_;
  MemoryPlan plan_;
  std::optional<Error> error_;
};

TEST(PlanMemory, InputsOutputsAndConstantsLieOutsideTheArena) {
  const Planned planned(R"(graph @main(%x: f32[4], %z: f32[4]) -> (%a, %b) {
  %c = constant f32[4] [1, 2, 3, 4]
  %a: f32[4] = Add(%x, %c) placement {engine = host_cpu}
  %b: f32[4] = Add(%z, %c) placement {engine = host_cpu}
}
)");
  ASSERT_FALSE(planned.error());
  EXPECT_EQ(planned.at("x").place, Place::kInput);
  EXPECT_EQ(planned.at("z").place, Place::kInput);
  EXPECT_EQ(planned.at("z").binding, 1u);
  EXPECT_EQ(planned.at("c").place, Place::kWeights);
  EXPECT_EQ(planned.at("c").offset, 640u);
  EXPECT_EQ(planned.at("b").place, Place::kOutput);
  EXPECT_EQ(planned.at("b").binding, 1u);
  EXPECT_EQ(planned.plan().arena_bytes, 0u);
}

// Two neighbours of a chain are live at a time; the third takes the place of the first.
TEST(PlanMemory, AValueTakesThePlaceOfOneThatDied) {
  const Planned planned(R"(graph @main(%x: f32[100]) -> (%y) {
  %a: f32[100] = Neg(%x) placement {engine = host_cpu}
  %b: f32[100] = Sin(%a) placement {engine = host_cpu}
  %c: f32[100] = Cos(%b) placement {engine = host_cpu}
  %y: f32[100] = Exp(%c) placement {engine = host_cpu}
}
)");
  EXPECT_EQ(planned.plan().arena_buffers.size(), 3u);
  EXPECT_EQ(planned.plan().arena_bytes, 2 * 448u);  // 400 bytes, in lines of 64
  EXPECT_EQ(planned.plan().live_bytes, 2 * 448u);
  EXPECT_EQ(planned.at("a").offset, planned.at("c").offset);
  EXPECT_NE(planned.at("a").offset, planned.at("b").offset);
  EXPECT_EQ(planned.at("b").bytes, 400u);
}

TEST(PlanMemory, AViewLiesWhereTheWholeLies) {
  const Planned planned(R"(graph @main(%x: f32[2, 8]) -> (%y) {
  %s = constant i64[1] [16]
  %a: f32[2, 8] = Neg(%x) placement {engine = host_cpu}
  %v: f32[16] = Reshape(%a, %s) placement {_no_task}
  %b: f32[16] = Sin(%v) placement {engine = host_cpu}
  %y: f32[16] = Add(%b, %v) placement {engine = host_cpu}
}
)");
  EXPECT_TRUE(planned.share("a", "v"));
  EXPECT_FALSE(planned.share("b", "v"));  // live: y still reads it
  EXPECT_EQ(planned.plan().arena_buffers.size(), 2u);
}

// A residual block: the result of the second convolution is added after the first, whose kernel
// writes over it.
std::string residual(const std::string& reader, const std::string& epilogue) {
  return R"(graph @main(%x: f32[1, 4, 8, 8], %w: f32[4, 4, 1, 1]) -> (%y) {
  %d: f32[1, 4, 8, 8] = Conv(%x, %w) placement {engine = aicore}
  %r: f32[1, 4, 8, 8] = Fused(%x, %w, %d) {anchor = 0, body = @r} placement {engine = aicore}
  %y: f32[1, 4, 8, 8] = )" +
         reader + R"( placement {engine = host_cpu}
}
graph @r(%x: f32[1, 4, 8, 8], %w: f32[4, 4, 1, 1], %d: f32[1, 4, 8, 8]) -> (%s) fused {
  %a: f32[1, 4, 8, 8] = Conv(%x, %w)
  %s: f32[1, 4, 8, 8] = )" +
         epilogue + "\n}\n";
}

TEST(PlanMemory, AKernelWritesOverTheOperandThatDiesInItsEpilogue) {
  const Planned planned(residual("Sin(%r)", "Add(%a, %d)"));
  EXPECT_TRUE(planned.share("r", "d"));
  EXPECT_EQ(planned.at("r").place, Place::kArena);
  EXPECT_EQ(planned.plan().arena_buffers.size(), 1u);
  EXPECT_EQ(planned.plan().arena_bytes, 1024u);
}

TEST(PlanMemory, AnOperandThatIsReadLaterIsNotWrittenOver) {
  const Planned planned(residual("Add(%r, %d)", "Add(%a, %d)"));
  EXPECT_FALSE(planned.share("r", "d"));
  EXPECT_EQ(planned.plan().arena_bytes, 2048u);
}

TEST(PlanMemory, AnOperandThatTheAnchorReadsIsNotWrittenOver) {
  const Planned planned(R"(graph @main(%x: f32[8, 8], %w: f32[8, 8]) -> (%y) {
  %d: f32[8, 8] = MatMul(%x, %w) placement {engine = aicore}
  %r: f32[8, 8] = Fused(%d, %w) {anchor = 0, body = @r} placement {engine = aicore}
  %y: f32[8, 8] = Sin(%r) placement {engine = host_cpu}
}
graph @r(%d: f32[8, 8], %w: f32[8, 8]) -> (%s) fused {
  %a: f32[8, 8] = MatMul(%d, %w)
  %s: f32[8, 8] = Add(%a, %d)
}
)");
  EXPECT_FALSE(planned.share("r", "d"));
  EXPECT_EQ(planned.plan().arena_bytes, 512u);
}

TEST(PlanMemory, AnInputIsNeverWrittenOver) {
  const Planned planned(R"(graph @main(%x: f32[8, 8], %w: f32[8, 8], %d: f32[8, 8]) -> (%y) {
  %r: f32[8, 8] = Fused(%x, %w, %d) {anchor = 0, body = @r} placement {engine = aicore}
  %y: f32[8, 8] = Sin(%r) placement {engine = host_cpu}
}
graph @r(%x: f32[8, 8], %w: f32[8, 8], %d: f32[8, 8]) -> (%s) fused {
  %a: f32[8, 8] = MatMul(%x, %w)
  %s: f32[8, 8] = Add(%a, %d)
}
)");
  EXPECT_EQ(planned.at("d").place, Place::kInput);
  EXPECT_EQ(planned.at("r").place, Place::kArena);
}

TEST(PlanMemory, OfBoundedDimsTheLargestSizesCount) {
  const Planned planned(R"(symbol n = dim(@main, %x, 0) in [1, 50]
graph @main(%x: f32[n, 8]) -> (%y) shapes symbolic {
  %a: f32[n, 8] = Neg(%x) placement {engine = host_cpu}
  %y: f32[n, 8] = Sin(%a) placement {engine = host_cpu}
}
)");
  EXPECT_TRUE(planned.plan().is_placed);
  EXPECT_EQ(planned.plan().arena_bytes, 1600u);
  EXPECT_EQ(planned.at("a").bytes, 0u);  // has no fixed size
}

TEST(PlanMemory, OfOpenDimsTheBlocksArePlacedLater) {
  const Planned planned(R"(symbol n = dim(@main, %x, 0) in [1, 9223372036854775807]
graph @main(%x: f32[n, 8]) -> (%y) shapes symbolic {
  %a: f32[n, 8] = Neg(%x) placement {engine = host_cpu}
  %y: f32[n, 8] = Sin(%a) placement {engine = host_cpu}
}
)");
  EXPECT_FALSE(planned.plan().is_placed);
  EXPECT_EQ(planned.plan().arena_buffers.size(), 1u);
  EXPECT_EQ(planned.plan().arena_bytes, 0u);
}

std::string neg_of(uint64_t elements, const std::string& dim, const std::string& head,
                   const std::string& attributes) {
  const std::string type = "f32[" + (dim.empty() ? std::to_string(elements) : dim) + "]";
  return head + "graph @main(%x: " + type + ") -> (%y) " + attributes + "{\n  %a: " + type +
         " = Neg(%x) placement {engine = host_cpu}\n  %y: " + type +
         " = Sin(%a) placement {engine = host_cpu}\n}\n";
}

TEST(PlanMemory, LargerArenasThanTheLoaderOpensAreRefused) {
  EXPECT_EQ(Planned(neg_of(kOmArenaLimit / 4, "", "", "")).plan().arena_bytes, kOmArenaLimit);
  const Planned refused(neg_of(kOmArenaLimit / 4 + 1, "", "", ""));
  ASSERT_TRUE(refused.error());
  EXPECT_EQ(refused.error()->code, ErrorCode::kLimit);
  EXPECT_NE(refused.error()->message.find("node 'a' (Neg)"), std::string::npos)
      << refused.error()->message;
  EXPECT_NE(refused.error()->message.find(std::to_string(kOmArenaLimit + 64)), std::string::npos)
      << refused.error()->message;
  EXPECT_FALSE(refused.error()->hint.empty());
}

// The bounds are only too generous: the actual sizes are placed when they are known.
TEST(PlanMemory, LargerBoundsThanTheLoaderOpensArePlacedLater) {
  const Planned planned(
      neg_of(0, "n", "symbol n = dim(@main, %x, 0) in [1, 20000000000000]\n", "shapes symbolic "));
  ASSERT_FALSE(planned.error());
  EXPECT_FALSE(planned.plan().is_placed);
  EXPECT_EQ(planned.plan().arena_bytes, 0u);
}

}  // namespace
}  // namespace sluice
