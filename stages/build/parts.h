// The graphs that become task lists.
#pragma once

#include <vector>

#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

// Returns the graphs that are scheduled, each by itself: the root, or, where the root is walked
// (walk.h), the parts that it calls, in order.
std::vector<Graph*> scheduled_graphs(const Graph& root);

// The kinds of a node that is a task. An append copies what a Concat puts behind its first operand.
enum class TaskKind : uint8_t { kLaunch, kHost, kCopy, kAppend };

// Returns the nodes that are tasks, in order; those without are views, or put together and take
// apart what lies so in memory (Placement::no_task).
std::vector<Node*> tasks_of(const Graph& graph);
// Returns the kind of a task, which its kernel and its engine say; assign-streams gave it that.
TaskKind task_kind(const Node& node);

// Returns kVerifyFailed when a task has no stream: assign-streams was left out.
Result<void> check_streams(const Graph& graph);

// Returns kVerifyFailed when an operand of a task has no place, or one without its bytes in a part
// of fixed sizes: assign-buffers, layout-weights or plan-memory was left out.
Result<void> check_places(const Graph& graph);

}  // namespace sluice
