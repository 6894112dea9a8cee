#include "stages/build/tasks/tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/ir/module.h"
#include "common/text/text.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Module parsed(const std::string& nodes) {
  auto module = parse_module(
      "sluice 1 lowered\ngraph @main(%x: f32[4], %z: f32[4]) -> (%r, %t) {\n" + nodes + "}\n",
      "test");
  EXPECT_TRUE(module.ok()) << module.error().message;
  return std::move(module).value();
}

TEST(MakeTasks, ControlEdgesAreThoseOfTasks) {
  const Module module = parsed(R"(
  %a: f32[4] = Relu(%x) placement {engine = host_cpu}
  %b: f32[4] = Neg(%x) placement {engine = host_cpu}
  %r: f32[4] = Exp(%z) after %b, %a placement {engine = host_cpu}
  %t: f32[4] = Add(%a, %b) placement {engine = host_cpu}
)");
  const auto list = make_tasks(module.root());
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->tasks.size(), 4U);
  EXPECT_THAT(list->tasks[1].after, IsEmpty());
  EXPECT_THAT(list->tasks[2].after, ElementsAre(0, 1));
  EXPECT_THAT(list->tasks[3].after, IsEmpty());  // operands already order it
}

// A view has no task: a node that reads it, or runs after it, waits for the tasks that the view
// waits for.
TEST(MakeTasks, ControlEdgesPassThroughViews) {
  const Module module = parsed(R"(
  %a: f32[4] = Relu(%x) placement {engine = host_cpu}
  %b: f32[4] = Neg(%x) placement {engine = host_cpu}
  %v: f32[1, 4] = Flatten(%b) after %a placement {engine = host_cpu, _no_task}
  %w: f32[1, 4] = Flatten(%v) placement {engine = host_cpu, _no_task}
  %r: f32[1, 4] = Exp(%w) placement {engine = host_cpu}
  %t: f32[4] = Abs(%z) after %w placement {engine = host_cpu}
)");
  const auto list = make_tasks(module.root());
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->tasks.size(), 4U);
  EXPECT_THAT(list->tasks[2].after, ElementsAre(0));
  EXPECT_THAT(list->tasks[3].after, ElementsAre(0, 1));
}

TEST(MakeTasks, AnOrderThatBreaksAControlEdgeIsOurBug) {
  Module module = parsed(R"(
  %r: f32[4] = Relu(%x) placement {engine = host_cpu} name "first"
  %t: f32[4] = Neg(%x) placement {engine = host_cpu} name "second"
)");
  Node& first = *module.root().first_node();
  first.add_after(*first.next());
  const auto list = make_tasks(module.root());
  ASSERT_FALSE(list.ok());
  EXPECT_EQ(list.error().code, ErrorCode::kInternal);
  EXPECT_THAT(list.error().message, HasSubstr("'first' (Relu) stands before node 'second' (Neg)"));
  ASSERT_TRUE(module.root().restore_order().ok());
  EXPECT_TRUE(make_tasks(module.root()).ok());
}

}  // namespace
}  // namespace sluice
