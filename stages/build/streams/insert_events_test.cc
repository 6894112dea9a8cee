#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text/text.h"
#include "stages/build/passes/passes.h"
#include "stages/build/streams/happens_before.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A graph after assign-streams and insert-events; its tasks are a, b, c, d.
class Streamed {
 public:
  explicit Streamed(const std::string& nodes)
      : module_(parse_module(
                    "sluice 1 lowered\ngraph @main(%x: f32[4]) -> (%d) {\n" + nodes + "}\n", "test")
                    .value()) {
    EXPECT_TRUE(assign_streams(module_.root(), Options()).ok());
    EXPECT_TRUE(insert_events(module_.root(), Options()).ok());
  }
  const Placement& of(const std::string& name) const {
    for (const Value& value : module_.root().values()) {
      if (value.name() == name) return value.producer()->placement;
    }
    throw std::runtime_error("no value " + name);
  }
  const Graph& graph() const { return module_.root(); }

 private:
  Module module_;
};

std::string node(const std::string& result, const std::string& operation,
                 const std::string& stream) {
  return "  %" + result + ": f32[4] = " + operation +
         " placement {engine = host_cpu, stream_label = \"" + stream + "\"}\n";
}

TEST(InsertEvents, OneStreamNeedsNone) {
  const Streamed streamed(node("a", "Relu(%x)", "s") + node("d", "Neg(%a)", "s"));
  EXPECT_THAT(streamed.graph().streams, ElementsAre("s"));
  EXPECT_THAT(streamed.of("a").records, IsEmpty());
  EXPECT_THAT(streamed.of("d").waits, IsEmpty());
}

TEST(InsertEvents, AReaderInAnotherStreamWaits) {
  const Streamed streamed(node("a", "Relu(%x)", "s") + node("d", "Neg(%a)", "t"));
  EXPECT_THAT(streamed.of("a").records, ElementsAre(0));
  EXPECT_THAT(streamed.of("d").waits, ElementsAre(EventWait{0}));
}

// Of several tasks of one stream the last implies the others, and a later task of the reader's
// stream need not wait again.
TEST(InsertEvents, ImpliedWaitsAreLeftOut) {
  const Streamed streamed(node("a", "Relu(%x)", "s") + node("b", "Neg(%x)", "s") +
                          node("c", "Add(%a, %b)", "t") + node("d", "Add(%c, %a)", "t"));
  EXPECT_THAT(streamed.of("a").records, IsEmpty());
  EXPECT_THAT(streamed.of("b").records, ElementsAre(0));
  EXPECT_THAT(streamed.of("c").waits, ElementsAre(EventWait{0}));
  EXPECT_THAT(streamed.of("d").waits, IsEmpty());
}

// No two tasks of a group run at the same time, whatever streams they are in.
TEST(InsertEvents, TasksOfAGroupRunOneAfterTheOther) {
  const auto of_group = [](const std::string& result, const std::string& operation,
                           const std::string& stream, int group) {
    std::string text = node(result, operation, stream);
    return text.insert(text.rfind('}'), ", parallel_group = " + std::to_string(group));
  };
  const Streamed streamed(of_group("a", "Relu(%x)", "s", 3) + of_group("b", "Neg(%x)", "t", 3) +
                          of_group("c", "Abs(%x)", "u", 4) + of_group("d", "Sin(%x)", "u", 3));
  EXPECT_THAT(streamed.of("a").records, ElementsAre(0));
  EXPECT_THAT(streamed.of("b").waits, ElementsAre(EventWait{0}));
  EXPECT_THAT(streamed.of("b").records, ElementsAre(1));
  EXPECT_THAT(streamed.of("c").waits, IsEmpty());
  EXPECT_THAT(streamed.of("d").waits, ElementsAre(EventWait{1}));
  const HappensBefore order(streamed.graph());
  EXPECT_TRUE(order.is_before(0, 1) && order.is_before(1, 3));
}

// What a third stream has waited for is done for those that wait for it.
TEST(InsertEvents, WaitsReachThroughStreams) {
  const Streamed streamed(node("a", "Relu(%x)", "s") + node("b", "Neg(%a)", "t") +
                          node("c", "Add(%b, %a)", "u") + node("d", "Abs(%c)", "s"));
  EXPECT_THAT(streamed.of("c").waits, ElementsAre(EventWait{1}));
  const HappensBefore order(streamed.graph());
  EXPECT_TRUE(order.is_before(0, 2));
  EXPECT_FALSE(order.is_before(2, 1));
  EXPECT_EQ(order.last_done(1, 3), 1);
}

// A view has no task: its reader waits for what made the bytes, and for what the view comes after.
TEST(InsertEvents, ViewsPassOrderOn) {
  const Streamed streamed(
      node("a", "Relu(%x)", "s") + node("b", "Neg(%x)", "u") +
      "  %c: f32[4] = Identity(%a) after %b placement {engine = host_cpu, _no_task}\n" +
      node("d", "Abs(%c)", "t"));
  EXPECT_EQ(streamed.of("c").stream, -1);
  EXPECT_EQ(streamed.of("d").waits.size(), 2u);
}

}  // namespace
}  // namespace sluice
