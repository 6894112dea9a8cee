// Makes tasks of other streams wait for what they read, for what control edges put before them, and
// for the task before them of their parallel_group, of which no two may run at the same time.
// An event is what one task records and later tasks of other streams wait for; a wait that another
// one implies, or that an earlier task of the same stream has done, is left out: the waits are the
// transitive reduction of the dependencies (A. V. Aho, M. R. Garey and J. D. Ullman, "The
// transitive reduction of a directed graph", 1972) without those that the order of a stream already
// keeps. With --sync=notify each wait has a record of its own.
//
//   before:  %a = Relu(%x) placement {stream = "left"}
//            %y = Add(%a, %x) placement {stream = "right"}
//   after:   %a = Relu(%x) placement {stream = "left", records = [0]}
//            %y = Add(%a, %x) placement {stream = "right", waits = [0]}
//
// Legal because a task then begins only after all that it depends on; without other streams nothing
// is inserted.
#include <algorithm>
#include <map>
#include <utility>

#include "stages/build/parts.h"
#include "stages/build/passes/passes.h"
#include "stages/build/streams/happens_before.h"

namespace sluice {
namespace {

class EventInserter {
 public:
  EventInserter(Graph& graph, bool notifies)
      : notifies_(notifies),
        tasks_(tasks_of(graph)),
        position_(graph.node_limit(), -1),
        seen_by_(graph.node_limit(), -1),
        clocks_(graph.streams.size()),
        event_(tasks_.size(), -1) {}

  void run() {
    for (uint32_t position = 0; position < tasks_.size(); ++position) {
      position_[static_cast<size_t>(tasks_[position]->id())] = position;
      wait_for_dependencies(position);
    }
  }

 private:
  // Returns the tasks that a task depends on; through nodes without a task, on what made the bytes
  // they show.
  std::vector<int64_t> dependencies(const Node& task) {
    std::vector<int64_t> found = before_in_group(task);
    std::vector<const Node*> open = {&task};
    const auto add = [&](const Node* producer) {
      if (producer == nullptr) return;
      int32_t& seen = seen_by_[static_cast<size_t>(producer->id())];
      if (seen == task.id()) return;
      seen = task.id();
      if (producer->placement.no_task) {
        open.push_back(producer);
      } else {
        found.push_back(position_[static_cast<size_t>(producer->id())]);
      }
    };
    while (!open.empty()) {
      const Node& node = *open.back();
      open.pop_back();
      for (size_t i = 0; i < node.input_count(); ++i) {
        if (node.input(i) != nullptr) add(node.input(i)->producer());
      }
      for (const Node* before : node.after()) add(before);
    }
    std::sort(found.rbegin(), found.rend());  // the later one may imply the earlier
    return found;
  }

  std::vector<int64_t> before_in_group(const Node& task) {
    if (task.placement.parallel_group < 0) return {};
    const int64_t own = position_[static_cast<size_t>(task.id())];
    const auto [last, is_first] = last_of_group_.try_emplace(task.placement.parallel_group, own);
    if (is_first) return {};
    return {std::exchange(last->second, own)};
  }

  void wait_for_dependencies(uint32_t position) {
    Node& task = *tasks_[position];
    const auto own = static_cast<uint32_t>(task.placement.stream);
    clocks_.add(own);
    for (const int64_t dependency : dependencies(task)) {
      const auto other = static_cast<uint32_t>(dependency);
      const uint32_t stream = clocks_.stream_of(other);
      if (stream == own || clocks_.last_done(stream, position) >= dependency) continue;
      task.placement.waits.push_back({event_of(other)});
      clocks_.wait_for(other);
    }
    std::sort(task.placement.waits.begin(), task.placement.waits.end());
  }

  uint32_t event_of(uint32_t position) {
    int64_t& event = event_[position];
    if (event < 0 || notifies_) {
      event = events_++;
      tasks_[position]->placement.records.push_back(static_cast<uint32_t>(event));
    }
    return static_cast<uint32_t>(event);
  }

  const bool notifies_;
  std::vector<Node*> tasks_;
  std::vector<int64_t> position_;  // by node id
  std::vector<int32_t> seen_by_;   // by node id: the last task that was found to depend on it
  std::map<int32_t, int64_t> last_of_group_;  // positions
  TaskClocks clocks_;
  std::vector<int64_t> event_;  // by position: what it records
  int64_t events_ = 0;
};

}  // namespace

Result<bool> insert_events(Graph& root, const Options& options) {
  const bool notifies = options.text("sync") == "notify";
  bool changed = false;
  for (Graph* graph : scheduled_graphs(root)) {
    if (graph->streams.size() < 2) continue;
    SLUICE_TRY(check_streams(*graph));
    EventInserter(*graph, notifies).run();
    graph->has_notifies = notifies;
    changed = true;
  }
  return changed;
}

}  // namespace sluice
