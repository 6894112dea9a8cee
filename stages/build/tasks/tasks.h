// The lowered graph as a list of tasks, before memory is planned.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

enum class TaskKind : uint8_t { kLaunch, kHost, kCopy, kAppend };

struct Task {
  TaskKind kind = TaskKind::kHost;
  const Node* node = nullptr;         // null: a copy of one value to a model output
  std::vector<const Value*> outputs;  // unused ones included
  std::vector<const Value*> inputs;   // null: absent
  uint32_t axis = 0;                  // kAppend
  // kCopy without node: the index of the model output; inputs[0] is its value.
  size_t copied_output = 0;
  // Tasks that control edges put before it, including those of the views that it reads; ascending.
  std::vector<size_t> after = {};
};

// A view: the same bytes as another value, once task `after` has run (-1: from the beginning).
struct Alias {
  const Value* value = nullptr;
  const Value* of = nullptr;
  int64_t after = -1;
};

struct TaskList {
  std::vector<Task> tasks;
  std::vector<Alias> aliases;
};

// Makes the tasks in node order, then a copy for every model output that cannot be written in
// place: one that is an input, a constant, a view of one, or an output twice. Every value is fixed
// (common/ir/fixed.h). Returns kInternal for a control edge from a later node.
Result<TaskList> make_tasks(const Graph& root);

}  // namespace sluice
