#include "stages/build/memory/plan_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "common/ir/module.h"
#include "common/omfile/om_format.h"
#include "common/text/text.h"
#include "stages/build/parts.h"
#include "stages/build/passes/passes.h"

namespace sluice {
namespace {

constexpr uint64_t kScratch = 512;

// A graph after the passes up to plan-memory. Nodes of aicore launch a kernel that needs kScratch.
class Planned {
 public:
  explicit Planned(const std::string& text)
      : module_(parse_module("sluice 1 lowered\n" + text, "test").value()) {
    const KernelId kernel = module_.add_kernel({-1, "k", "generic", 1, kScratch});
    for (Node& node : module_.root().nodes()) {
      if (node.placement.engine == EngineId::kAicore) node.placement.kernel = kernel;
    }
    for (const auto pass : {resolve_conflicts, assign_streams, insert_events, assign_buffers,
                            layout_weights, plan_memory}) {
      const auto changed = pass(module_.root(), Options());
      if (!changed) error_ = changed.error();
      if (!changed) return;
    }
  }

  const std::optional<Error>& error() const { return error_; }
  const MemoryBuffer& at(const std::string& name) const {
    return graph().buffers[static_cast<size_t>(place(name).buffer)];
  }
  bool share(const std::string& a, const std::string& b) const { return place(a) == place(b); }
  std::vector<MemoryBuffer> arena() const {
    std::vector<MemoryBuffer> arena;
    for (const MemoryBuffer& buffer : graph().buffers)
      if (buffer.memory == MemoryClass::kArena) arena.push_back(buffer);
    return arena;
  }
  uint64_t arena_bytes() const { return graph().arena_bytes; }
  uint64_t scratch_bytes() const { return graph().scratch_bytes; }

 private:
  const Graph& graph() const { return *scheduled_graphs(module_.root())[0]; }
  const MemoryPlace& place(const std::string& name) const {
    for (const Value& value : graph().values()) {
      if (!value.is_erased() && value.name() == name) return value.place();
    }
    throw std::runtime_error("no value " + name);
  }

  Module module_;
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
  EXPECT_EQ(planned.at("x").memory, MemoryClass::kInput);
  EXPECT_EQ(planned.at("z").memory, MemoryClass::kInput);
  EXPECT_EQ(planned.at("z").binding, 1u);
  EXPECT_EQ(planned.at("c").memory, MemoryClass::kWeights);
  EXPECT_EQ(planned.at("c").offset, Dim::fixed(0));
  EXPECT_EQ(planned.at("b").memory, MemoryClass::kOutput);
  EXPECT_EQ(planned.at("b").binding, 1u);
  EXPECT_EQ(planned.arena_bytes(), 0u);
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
  EXPECT_EQ(planned.arena().size(), 3u);
  EXPECT_EQ(planned.arena_bytes(), 2 * 448u);  // 400 bytes, in lines of 64
  EXPECT_EQ(planned.at("a").offset, planned.at("c").offset);
  EXPECT_NE(planned.at("a").offset, planned.at("b").offset);
  EXPECT_EQ(planned.at("b").bytes, Dim::fixed(400));
  EXPECT_EQ(planned.at("b").live, (std::vector<LiveRange>{{0, 1, 2}}));
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
  EXPECT_EQ(planned.arena().size(), 2u);
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
  EXPECT_EQ(planned.at("r").memory, MemoryClass::kArena);
  EXPECT_EQ(planned.arena().size(), 1u);
  EXPECT_EQ(planned.arena_bytes(), 1024u);
  EXPECT_EQ(planned.scratch_bytes(), kScratch);
}

TEST(PlanMemory, AnOperandThatIsReadLaterIsNotWrittenOver) {
  const Planned planned(residual("Add(%r, %d)", "Add(%a, %d)"));
  EXPECT_FALSE(planned.share("r", "d"));
  EXPECT_EQ(planned.arena_bytes(), 2048u);
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
  EXPECT_EQ(planned.arena_bytes(), 512u);
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
  EXPECT_EQ(planned.at("d").memory, MemoryClass::kInput);
  EXPECT_EQ(planned.at("r").memory, MemoryClass::kArena);
}

// A model of one symbolic part: Neg, then Sin.
std::string symbolic(const std::string& type, const std::string& range) {
  return "symbol n = dim(@main, %x, 0) in " + range + "\ngraph @main(%x: " + type +
         ") -> (%y) shapes dynamic {\n  %y: " + type +
         " = Call(%x) {graph = @part}\n}\ngraph @part(%x: " + type +
         ") -> (%y) part shapes symbolic {\n  %a: " + type +
         " = Neg(%x) placement {engine = host_cpu}\n  %y: " + type +
         " = Sin(%a) placement {engine = host_cpu}\n}\n";
}

TEST(PlanMemory, OfBoundedDimsTheLargestSizesCount) {
  const Planned planned(symbolic("f32[n, 8]", "[1, 50]"));
  EXPECT_EQ(planned.at("a").offset, Dim::fixed(0));
  EXPECT_EQ(planned.arena_bytes(), 1600u);
  EXPECT_TRUE(planned.at("a").bytes.is_expression());
}

// Elements of four bits lie two in a byte.
TEST(PlanMemory, HalfBytesAreRoundedUp) {
  EXPECT_EQ(Planned(symbolic("i4[n, 3]", "[1, 85]")).arena_bytes(), 128u);
  EXPECT_EQ(Planned(symbolic("i4[n, 3]", "[1, 86]")).arena_bytes(), 192u);
}

TEST(PlanMemory, OfOpenDimsTheBlocksArePlacedLater) {
  const Planned planned(symbolic("f32[n, 8]", "[1, 9223372036854775807]"));
  EXPECT_TRUE(planned.at("a").offset.is_unknown());
  EXPECT_EQ(planned.arena().size(), 1u);
  EXPECT_EQ(planned.arena_bytes(), 0u);
}

std::string neg_of(uint64_t elements) {
  const std::string type = "f32[" + std::to_string(elements) + "]";
  return "graph @main(%x: " + type + ") -> (%y) {\n  %a: " + type +
         " = Neg(%x) placement {engine = host_cpu}\n  %y: " + type +
         " = Sin(%a) placement {engine = host_cpu}\n}\n";
}

TEST(PlanMemory, LargerArenasThanTheLoaderOpensAreRefused) {
  EXPECT_EQ(Planned(neg_of(kOmArenaLimit / 4)).arena_bytes(), kOmArenaLimit);
  const Planned refused(neg_of(kOmArenaLimit / 4 + 1));
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
  const Planned planned(symbolic("f32[n]", "[1, 20000000000000]"));
  ASSERT_FALSE(planned.error());
  EXPECT_TRUE(planned.at("a").offset.is_unknown());
  EXPECT_EQ(planned.arena_bytes(), 0u);
}

// What a stream knows decides when it may take the bytes of another one's value.
TEST(PlanMemory, BytesAreReusedByStreamsThatKnowTheyAreFree) {
  const auto graph = [](const std::string& after) {
    return R"(graph @main(%x: f32[100], %z: f32[100]) -> (%y, %w) {
  %a: f32[100] = Neg(%x) placement {engine = host_cpu, stream_label = "left"}
  %y: f32[100] = Sin(%a) placement {engine = host_cpu, stream_label = "left"}
  %b: f32[100] = Neg(%z))" +
           after + R"( placement {engine = host_cpu, stream_label = "right"}
  %w: f32[100] = Sin(%b) placement {engine = host_cpu, stream_label = "right"}
}
)";
  };
  const Planned apart(graph("")), ordered(graph(" after %y"));
  EXPECT_EQ(apart.at("a").held, (TaskRange{0, 3})) << "the right stream never knows";
  EXPECT_EQ(ordered.at("a").held, (TaskRange{0, 1}));
  EXPECT_NE(apart.at("a").offset, apart.at("b").offset);
  EXPECT_EQ(apart.arena_bytes(), 2 * 448u);
  EXPECT_EQ(ordered.at("a").offset, ordered.at("b").offset);
  EXPECT_EQ(ordered.arena_bytes(), 448u);
}

}  // namespace
}  // namespace sluice
