#include "common/verify/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "common/text/text.h"

namespace sluice {
namespace {

std::string findings(const std::string& text, Level level) {
  auto module = parse_module(text, "t");
  if (!module) return error_text(module.error());
  const auto result = verify(*module, level);
  return result ? "" : result.error().message;
}

TEST(Verify, TypedGraph) {
  EXPECT_EQ(findings("sluice 1 typed\ngraph @m(%x: f32[2]) -> (%y) {\n  %y: f32[2] = Relu(%x)\n}\n",
                     Level::kTyped),
            "");
  EXPECT_EQ(findings("sluice 1 typed\ngraph @m(%x: f32[2]) -> (%y) {\n  %y = Relu(%x)\n}\n",
                     Level::kTyped),
            "the graph is not typed: value 'y' of graph 'm' has no type");
  EXPECT_EQ(
      findings("sluice 1 typed\ngraph @m(%x: f32[2]) -> (%y) {\n  %y: f32[2] = Relu(%x, %x) {q = "
               "1}\n}\n",
               Level::kTyped),
      "the graph is not typed: node 'y' (Relu): has 2 inputs, expected 1; has no attribute 'q'");
}

TEST(Verify, TypedGraphIsNoSubgraph) {
  EXPECT_EQ(
      findings(
          "sluice 1 typed\ngraph @m(%x: f32[2]) -> (%y) subgraph {\n  %y: f32[2] = Relu(%x)\n}\n",
          Level::kTyped),
      "the graph is not typed: graph 'm': a subgraph is no typed graph");
}

TEST(Verify, AViewHasTheElementsOfItsInput) {
  const auto reshape = [](std::string_view from, std::string_view to) {
    return fmt::format(
        "sluice 1 typed\ngraph @m(%x: {}, %s: i64[2]) -> (%y) {{\n  %y: {} = Reshape(%x, %s)\n}}\n",
        from, to);
  };
  EXPECT_EQ(findings(reshape("f32[6]", "f32[2, 3]"), Level::kTyped), "");
  EXPECT_EQ(findings(reshape("f32[6]", "f32[2, ?]"), Level::kTyped), "");
  EXPECT_EQ(findings(reshape("f32[6]", "f32[2, 2147483647]"), Level::kTyped),
            "the graph is not typed: node 'y' (Reshape): its result is f32[2, 2147483647], which "
            "does not have the elements of its input, f32[6]");
  EXPECT_NE(findings(reshape("f32[6]", "f64[2, 3]"), Level::kTyped), "");
  EXPECT_NE(findings(reshape("f32[4294967296, 4294967296]", "f32[4294967296, 8589934592]"),
                     Level::kTyped),
            "");
}

TEST(Verify, StorageTakesEachElementOnce) {
  const auto stored = [](const std::string& storage) {
    return findings(
        "sluice 1 typed\ngraph @m(%x: f32[2, 8, 3]) -> (%y) {\n  %y: f32[2, 8, 3] "
        "storage " +
            storage + " bytes 192 = Relu(%x)\n}\n",
        Level::kTyped);
  };
  EXPECT_EQ(stored("nhwc [2, 3, 8]"), "");
  EXPECT_EQ(stored("[0, 1 by 4, 2, 1 mod 4] [2, 2, 3, 4]"), "");
  EXPECT_NE(stored("[0, 1, 1] [2, 8, 8]").find("stored axes of dim 1 overlap"), std::string::npos);
  EXPECT_NE(stored("[0, 1] [2, 8]").find("dim 2 is not stored"), std::string::npos);
  EXPECT_NE(stored("[0, 1, 2, 3] [2, 8, 3, 1]").find("a stored axis of dim 3"), std::string::npos);
  EXPECT_NE(stored("[0, 1, 2] [2, 8]").find("3 stored axes and 2 extents"), std::string::npos);
}

TEST(Verify, ListsEverythingUpToTwenty) {
  std::string text = "sluice 1 typed\ngraph @m(%x: f32[2]) -> (%x) {\n";
  for (int i = 0; i < 25; ++i) text += fmt::format("  %y{} = Relu(%x)\n", i);
  const std::string found = findings(text + "}\n", Level::kTyped);
  EXPECT_TRUE(found.starts_with("the graph is not typed: 25 findings:\n  value 'y0'")) << found;
  EXPECT_TRUE(found.ends_with("\n  and 5 more")) << found;
}

TEST(Verify, FusedBody) {
  const std::string text = R"(sluice 1 typed
graph @m(%x: f32[2, 2]) -> (%y) {
  %y: f32[2, 3] = Fused(%x) {body = @f}
}
graph @f(%a: f32[2, 2]) -> (%c) fused {
  %b: f32[2, 2] = MatMul(%a, %a)
  %c: f32[2, 2] = MatMul(%b, %a)
}
)";
  const std::string found = findings(text, Level::kTyped);
  EXPECT_NE(
      found.find("node 'y' (Fused): output 0 has type f32[2, 3], in graph 'f' it has f32[2, 2]"),
      std::string::npos)
      << found;
  EXPECT_NE(found.find("graph 'f': a fused body has at most one anchor, this has 2"),
            std::string::npos)
      << found;
}

TEST(Verify, OrderAndOwners) {
  auto module = parse_module(
      "sluice 1 typed\ngraph @m(%x: f32[2]) -> (%z) {\n  %y: f32[2] = Relu(%x)\n  %z: f32[2] = "
      "Relu(%y)\n}\n",
      "t");
  ASSERT_TRUE(module.ok());
  Graph& graph = module->root();
  graph.move_before(*graph.first_node(), nullptr);
  const auto result = verify(*module, Level::kTyped);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find(
                "node 'z' (Relu): input 0 is made by node 'y' (Relu), which comes later"),
            std::string::npos);
}

TEST(Verify, PartitionedGraph) {
  const std::string head =
      "sluice 1 partitioned\ngraph @m(%x: f32[2]) -> (%y) {\n  %y: f32[2] = Call(%x) {graph = "
      "@p}\n}\n";
  const std::string good = head +
                           "graph @p(%a: f32[2]) -> (%b) subgraph engine aicore {\n  %b: f32[2] = "
                           "Relu(%a) placement {engine = aicore}\n}\n";
  EXPECT_EQ(findings(good, Level::kPartitioned), "");
  EXPECT_EQ(findings(good, Level::kLowered),
            "the graph is not lowered: node 'b' (Relu): names no kernel, and aicore does not run "
            "it without one");
  const std::string other = head +
                            "graph @p(%a: f32[2]) -> (%b) subgraph engine aicore {\n  %b: f32[2] = "
                            "Relu(%a) placement {engine = rts}\n}\n";
  EXPECT_EQ(findings(other, Level::kPartitioned),
            "the graph is not partitioned: node 'b' (Relu): runs on rts, its graph 'p' on aicore");
  const std::string large =
      head +
      "graph @p(%a: f32[2]) -> (%b) subgraph engine rts {\n  %k = constant f32[1000] splat 1\n" +
      "  %b: f32[2] = Add(%a, %k) placement {engine = rts}\n}\n";
  EXPECT_EQ(findings(large, Level::kPartitioned),
            "the graph is not partitioned: value 'k' of graph 'p' is a constant of 4000 bytes; it "
            "should be a parameter");
}

TEST(Verify, PartitionedGraphKeepsItsShapeClass) {
  const auto graphs = [](std::string root, std::string subgraph) {
    return "sluice 1 partitioned\ngraph @m(%x: f32[2]) -> (%y)" + root +
           " {\n  %y: i64[1, ?] = Call(%x) {graph = @p} placement {engine = host_cpu}\n}\n" +
           "graph @p(%x: f32[2]) -> (%y) subgraph engine host_cpu" + subgraph +
           " {\n  %y: i64[1, ?] = NonZero(%x) placement {engine = host_cpu}\n}\n";
  };
  EXPECT_EQ(findings(graphs(" shapes dynamic", " shapes dynamic"), Level::kPartitioned), "");
  EXPECT_EQ(findings(graphs("", " shapes dynamic"), Level::kPartitioned),
            "the graph is not partitioned: value 'y' of graph 'm': has no known size, though graph "
            "'m' is fixed");
  EXPECT_EQ(findings(graphs(" shapes dynamic", " shapes symbolic"), Level::kPartitioned),
            "the graph is not partitioned: value 'y' of graph 'p': has no known size, though graph "
            "'p' is symbolic");
}

TEST(Verify, SymbolOfAPartIsADimOfAnInput) {
  const auto graphs = [](std::string type) {
    return "sluice 1 partitioned\nsymbol N = dim(@m, %x, 0)\ngraph @m(%x: f32[" + type +
           "]) -> (%y) shapes dynamic {\n  %y: f32[N] = Call(%x) {graph = @p}\n}\n" +
           "graph @p(%x: f32[" + type + "]) -> (%y) part shapes symbolic {\n" +
           "  %y: f32[N] = Relu(%x) placement {engine = host_cpu}\n}\n";
  };
  EXPECT_EQ(findings(graphs("N"), Level::kPartitioned), "");
  EXPECT_THAT(findings(graphs("2"), Level::kPartitioned),
              ::testing::HasSubstr("value 'y' of graph 'p': its size has the symbol 'N', which is "
                                   "not dim 0 of the input that it names"));
}

TEST(Verify, FixedPartHoldsFixedPlainTensors) {
  const auto graphs = [](std::string facts, std::string type) {
    const std::string call = " = Call(%x) {graph = @";
    return "sluice 1 partitioned\nsymbol N = dim(@m, %x, 0)\ngraph @m(%x: " + type +
           ") -> (%y, %z) shapes dynamic {\n  %y: " + type + call + "p}\n  %z: " + type + call +
           "q}\n}\n" + "graph @p(%x: " + type + ") -> (%y) part" + facts + " {\n  %y: " + type +
           " = Identity(%x) placement {engine = host_cpu}\n}\n" + "graph @q(%x: " + type +
           ") -> (%z) part shapes dynamic {\n  %z: " + type +
           " = Identity(%x) placement {engine = host_cpu}\n}\n";
  };
  EXPECT_EQ(findings(graphs("", "f32[2]"), Level::kPartitioned), "");
  EXPECT_EQ(findings(graphs(" shapes symbolic", "f32[N]"), Level::kPartitioned), "");
  EXPECT_THAT(
      findings(graphs("", "f32[N]"), Level::kPartitioned),
      ::testing::HasSubstr("value 'x' of graph 'p': has no known size, though graph 'p' is fixed"));
  EXPECT_THAT(
      findings(graphs("", "string[2]"), Level::kPartitioned),
      ::testing::HasSubstr("value 'y' of graph 'p': has no known size, though graph 'p' is fixed"));
  EXPECT_EQ(findings(graphs(" shapes dynamic", "string[2]"), Level::kPartitioned), "");
}

TEST(Verify, TheEntryOfAKernelIsAName) {
  const auto graph = [](std::string_view entry) {
    return fmt::format(
        "sluice 1 lowered\nkernel k_1 = u8[1] [1] entry \"{}\" isa \"\" blocks 1 scratch 0 "
        "multiply_adds 0\ngraph @m(%x: f32[4]) -> (%y) {{\n  %y: f32[4] = Relu(%x) placement "
        "{{engine = vector, kernel = k_1}}\n}}\n",
        entry);
  };
  EXPECT_EQ(findings(graph("k_2"), Level::kLowered), "");
  EXPECT_THAT(findings(graph("k_\\xff"), Level::kLowered),
              ::testing::HasSubstr("the entry of a kernel is no name"));
}

TEST(Verify, InputsAndOutputsLieWhereTheyAreBound) {
  const auto swap = [](std::string_view x, std::string_view z, std::string_view outputs) {
    return fmt::format(
        "sluice 1 scheduled\ngraph @m(%x: f32[4] at {}, %z: f32[4] at {}) -> ({}) {{\n"
        "  stream \"main\"\n"
        "  buffer b0 = input 0 bytes 16 live \"main\" [0, 1]\n"
        "  buffer b1 = input 1 bytes 16 live \"main\" [0, 1]\n"
        "  buffer b2 = output 0 bytes 16 live \"main\" [0, 0]\n"
        "  buffer b3 = output 1 bytes 16 live \"main\" [1, 1]\n"
        "  %a: f32[4] at b2 = Neg(%x) placement {{engine = host_cpu, stream = \"main\"}}\n"
        "  %b: f32[4] at b3 = Sin(%z) placement {{engine = host_cpu, stream = \"main\"}}\n}}\n",
        x, z, outputs);
  };
  EXPECT_EQ(findings(swap("b0", "b1", "%a, %b"), Level::kScheduled), "");
  EXPECT_THAT(findings(swap("b1", "b0", "%a, %b"), Level::kScheduled),
              ::testing::HasSubstr("value 'x' of graph 'm': does not begin where input 0 does"));
  EXPECT_THAT(findings(swap("b0", "b1", "%b, %a"), Level::kScheduled),
              ::testing::HasSubstr("graph 'm': no task writes output 0"));
  EXPECT_THAT(findings(swap("b0", "b1", "%a, %b"), Level::kTyped),
              ::testing::HasSubstr("graph 'm': has streams or buffers before it is lowered"));
}

// A schedule of two streams, of which the second learns late that %a is no longer needed.
constexpr std::string_view kSchedule = R"(sluice 1 scheduled
kernel k = u8[1] [0] isa "avx2" blocks 1 scratch 512 multiply_adds 0
graph @m(%x: f32[4] at b0) -> (%y, %z) {
  stream "left"
  stream "right"
  arena bytes 192
  scratch bytes 512
  buffer b0 = input 0 bytes 16 live "left" [0, 0], "right" [1, 1]
  buffer b1 = arena bytes 16 offset 0 live "left" [0, 2] held [0, 3]
  buffer b2 = arena bytes 96 offset 64 live "right" [1, 4]
  buffer b3 = output 0 bytes 16 live "left" [2, 2]
  buffer b4 = output 1 bytes 96 live "right" [4, 4]
  %a: f32[4] at b1 = Relu(%x) placement {engine = vector, kernel = k, stream = "left"}
  %b: f32[4, 1] storage dense [4, 2] bytes 28 at b2 of f32[4, 2] = Sin(%x) placement {engine = host_cpu, stream = "right"}
  %y: f32[4] at b3 = MemCopy(%a) {output = 0} placement {engine = rts, stream = "left", records = [0]}
  %c: f32[4, 1] storage dense [4, 2] bytes 28 at b2 + 4 of f32[4, 2] = Cos(%b) placement {engine = host_cpu, stream = "right"}
  %d: f32[4, 2] at b2 = Concat(%b, %c) {axis = 1} placement {engine = host_cpu, complete_after = 3, _no_task}
  %z: f32[4, 2] at b4 = Exp(%d) placement {engine = host_cpu, stream = "right", waits = [0]}
}
)";

// An edit that forgets what follows from it is refused, with what is said and what must be.
TEST(Verify, FactsOfAScheduleThatFollowFromOthers) {
  const auto edited = [](std::string_view old, std::string_view made) {
    std::string text(kSchedule);
    text.replace(text.find(old), old.size(), made);
    return findings(text, Level::kScheduled);
  };
  EXPECT_EQ(findings(std::string(kSchedule), Level::kScheduled), "");
  const std::array<std::string_view, 3> edits[] = {
      {"arena bytes 192", "arena bytes 128", "graph 'm': its arena has 128 bytes, not 192"},
      {"offset 64", "offset 128", "graph 'm': its arena has 192 bytes, not 256"},
      {"  scratch bytes 512\n", "", "graph 'm': its scratch has 0 bytes, not 512"},
      {" held [0, 3]", "", "buffer b1 is held by the tasks [0, 2], not [0, 3]"},
      {", waits = [0]", "", "buffer b1 is held by the tasks [0, 3], not [0, 4]"},
      {"after = 3", "after = 1", "node 'd' (Concat): is complete after task 1, not after task 3"},
      {"complete_after = 3, ", "", "is complete after no task, not after task 3"},
      {"{engine = rts", "{engine = host_cpu",
       "node 'y' (MemCopy): copies, and runs on host_cpu, not on rts"},
      {"%a: f32[4] at b1", "%a: f32[4] at b1 bytes 8",
       "value 'a' of graph 'm': has 8 bytes at its place, not 16"},
      {" of f32[4, 2] = Sin", " of f32[4, 4] = Sin",
       "value 'b' of graph 'm': its rows lie in rows of f32[4, 4], not in rows of f32[4, 2]"},
      {" of f32[4, 2] = Sin", " = Sin",
       "its rows lie in rows of its own, not in rows of f32[4, 2]"},
  };
  for (const auto& [old, made, wanted] : edits)
    EXPECT_THAT(edited(old, made), ::testing::HasSubstr(wanted)) << made;
}

TEST(Verify, Segments) {
  auto module =
      parse_module("sluice 1 typed\ngraph @m() -> (%k) {\n  %k = constant i8[2] [1, 2]\n}\n", "t");
  ASSERT_TRUE(module.ok());
  EXPECT_TRUE(verify_segments(*module).ok());
  module->segment(0).data[0] = std::byte{9};
  EXPECT_FALSE(verify_segments(*module).ok());
}

}  // namespace
}  // namespace sluice
