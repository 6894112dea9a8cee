// Makes tasks of other streams wait for what they read and for what control edges put before them.
// An event is what one task records and later tasks of other streams wait for; a wait that another
// one implies, or that an earlier task of the same stream has done, is left out.
//
//   before:  %a = Relu(%x) placement {stream = "left"}
//            %y = Add(%a, %x) placement {stream = "right"}
//   after:   %a = Relu(%x) placement {stream = "left", records = [0]}
//            %y = Add(%a, %x) placement {stream = "right", waits = [0]}
//
// Legal because a task then begins only after all that it depends on; without other streams nothing
// is inserted.
#include <algorithm>

#include "stages/build/parts.h"
#include "stages/build/passes/passes.h"

namespace sluice {
namespace {

class EventInserter {
 public:
  explicit EventInserter(Graph& graph)
      : tasks_(tasks_of(graph)),
        position_(graph.node_limit(), -1),
        clocks_(tasks_.size() * graph.streams.size(), -1),
        last_(graph.streams.size(), -1),
        event_(tasks_.size(), -1) {}

  void run() {
    for (size_t position = 0; position < tasks_.size(); ++position) {
      position_[static_cast<size_t>(tasks_[position]->id())] = static_cast<int64_t>(position);
      wait_for_dependencies(position);
    }
  }

 private:
  int64_t stream_of(int64_t position) const {
    return tasks_[static_cast<size_t>(position)]->placement.stream;
  }
  int64_t* clock(int64_t position) {
    return &clocks_[static_cast<size_t>(position) * last_.size()];
  }

  // Returns the tasks that a task depends on; through a view, on what made the bytes it shows.
  std::vector<int64_t> dependencies(const Node& task) const {
    std::vector<int64_t> found;
    std::vector<const Node*> open = {&task};
    const auto add = [&](const Node* producer) {
      if (producer == nullptr) return;
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

  void wait_for_dependencies(size_t position) {
    Node& task = *tasks_[position];
    const auto own = static_cast<size_t>(task.placement.stream);
    if (last_[own] >= 0) join(static_cast<int64_t>(position), last_[own]);
    for (const int64_t other : dependencies(task)) {
      const auto stream = static_cast<size_t>(stream_of(other));
      if (stream == own || clock(static_cast<int64_t>(position))[stream] >= other) continue;
      task.placement.waits.push_back(event_of(other));
      join(static_cast<int64_t>(position), other);
    }
    std::sort(task.placement.waits.begin(), task.placement.waits.end());
    last_[own] = static_cast<int64_t>(position);
  }

  // Enters what is done once the earlier task is.
  void join(int64_t position, int64_t earlier) {
    for (size_t s = 0; s < last_.size(); ++s)
      clock(position)[s] = std::max(clock(position)[s], clock(earlier)[s]);
    int64_t& done = clock(position)[static_cast<size_t>(stream_of(earlier))];
    done = std::max(done, earlier);
  }

  uint32_t event_of(int64_t position) {
    int64_t& event = event_[static_cast<size_t>(position)];
    if (event < 0) {
      event = events_++;
      tasks_[static_cast<size_t>(position)]->placement.records = {static_cast<uint32_t>(event)};
    }
    return static_cast<uint32_t>(event);
  }

  std::vector<Node*> tasks_;
  std::vector<int64_t> position_;  // by node id
  std::vector<int64_t> clocks_;    // by position and stream: the last task of it that is done
  std::vector<int64_t> last_;      // by stream: its latest task
  std::vector<int64_t> event_;     // by position: what it records
  int64_t events_ = 0;
};

}  // namespace

Result<bool> insert_events(Graph& root, const Options&) {
  bool changed = false;
  for (Graph* graph : scheduled_graphs(root)) {
    if (graph->streams.size() < 2) continue;
    SLUICE_TRY(check_streams(*graph));
    EventInserter(*graph).run();
    changed = true;
  }
  return changed;
}

}  // namespace sluice
