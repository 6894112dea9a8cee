#include "stages/build/tasks/tasks.h"

#include <map>
#include <set>

#include "common/ir/append_axis.h"
#include "common/ir/module.h"

namespace sluice {
namespace {

// Returns the value whose bytes a view shares.
const Value* base_of(const std::vector<const Value*>& base, const Value* value) {
  while (base[static_cast<size_t>(value->id())] != nullptr)
    value = base[static_cast<size_t>(value->id())];
  return value;
}

TaskKind task_kind(const Node& node) {
  if (node.placement.kernel >= 0) return TaskKind::kLaunch;
  if (node.op() == Op::kMemCopy || node.op() == Op::kTransData) return TaskKind::kCopy;
  return node.op() == Op::kConcat && append_axis(node.output()) ? TaskKind::kAppend
                                                                : TaskKind::kHost;
}

Task make_task(const Node& node) {
  Task task;
  task.kind = task_kind(node);
  if (task.kind == TaskKind::kAppend)
    task.axis = static_cast<uint32_t>(*append_axis(node.output()));
  task.node = &node;
  for (size_t k = 0; k < node.output_count(); ++k) task.outputs.push_back(&node.output(k));
  for (size_t i = 0; i < node.input_count(); ++i) task.inputs.push_back(node.input(i));
  return task;
}

class TaskMaker {
 public:
  explicit TaskMaker(const Graph& root)
      : root_(root),
        base_(root.value_limit(), nullptr),
        made_by_(root.value_limit(), -1),
        seen_(root.node_limit(), false) {}

  Result<TaskList> make() {
    for (const Node& node : root_.nodes()) {
      SLUICE_ASSIGN(std::vector<size_t> after, control_of(node));
      seen_[static_cast<size_t>(node.id())] = true;
      if (node.placement.no_task) {
        add_alias(node, std::move(after));
      } else {
        add_task(node, std::move(after));
      }
    }
    add_output_copies();
    return std::move(list_);
  }

 private:
  int64_t maker_of(const Value& value) const {
    return made_by_[static_cast<size_t>(base_of(base_, &value)->id())];
  }

  // Returns the tasks that the node's control edges name, and those of the views that it reads: a
  // view exists once the tasks that it waits for are done.
  Result<std::vector<size_t>> control_of(const Node& node) const {
    std::set<size_t> tasks;
    const auto add_views = [&](const Node& view) {
      const auto found = control_of_views_.find(view.id());
      if (found != control_of_views_.end())
        tasks.insert(found->second.begin(), found->second.end());
    };
    for (const Node* before : node.after()) {
      if (!seen_[static_cast<size_t>(before->id())]) {
        return make_error(ErrorCode::kInternal, "{} stands before {}, which it is to run after",
                          node.label(), before->label());
      }
      const int64_t maker = maker_of(before->output());
      if (maker >= 0) tasks.insert(static_cast<size_t>(maker));
      add_views(*before);
    }
    for (size_t i = 0; i < node.input_count(); ++i) {
      const Node* producer = node.input(i) == nullptr ? nullptr : node.input(i)->producer();
      if (producer != nullptr) add_views(*producer);
    }
    return std::vector<size_t>(tasks.begin(), tasks.end());
  }

  void add_alias(const Node& node, std::vector<size_t> after) {
    base_[static_cast<size_t>(node.output().id())] = node.input(0);
    const Value* origin = base_of(base_, node.input(0));
    list_.aliases.push_back({&node.output(), origin, made_by_[static_cast<size_t>(origin->id())]});
    if (!after.empty()) control_of_views_.emplace(node.id(), std::move(after));
  }

  void add_task(const Node& node, std::vector<size_t> after) {
    for (size_t k = 0; k < node.output_count(); ++k)
      made_by_[static_cast<size_t>(node.output(k).id())] = static_cast<int64_t>(list_.tasks.size());
    list_.tasks.push_back(make_task(node));
    list_.tasks.back().after = std::move(after);
  }

  void add_output_copies() {
    std::set<int32_t> written;  // values that are already in an output
    for (size_t k = 0; k < root_.outputs().size(); ++k) {
      const Value* origin = base_of(base_, root_.outputs()[k]);
      if (origin->producer() != nullptr && written.insert(origin->id()).second) continue;
      Task copy;
      copy.kind = TaskKind::kCopy;
      copy.inputs = {root_.outputs()[k]};
      copy.copied_output = k;
      list_.tasks.push_back(std::move(copy));
    }
  }

  const Graph& root_;
  TaskList list_;
  std::vector<const Value*> base_;  // by value id: the value that a view shows
  std::vector<int64_t> made_by_;    // by value id: the task
  std::vector<bool> seen_;          // by node id
  std::map<int32_t, std::vector<size_t>> control_of_views_;  // by node id
};

}  // namespace

Result<TaskList> make_tasks(const Graph& root) { return TaskMaker(root).make(); }

}  // namespace sluice
