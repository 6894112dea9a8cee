// Gives every task a stream: that of its label, or "main". Streams are numbered in the order of
// their first task. Copies run on the engine rts: those of all elements, and a Concat that appends
// to a state in place, which copies the new ones.
#include <map>

#include "common/ir/append_axis.h"
#include "stages/build/parts.h"
#include "stages/build/passes/passes.h"

namespace sluice {
namespace {

constexpr std::string_view kMainStream = "main";

bool copies(const Node& node) {
  if (node.placement.kernel >= 0) return false;
  const bool appends = node.op() == Op::kConcat && append_axis(node.output());
  return appends || node.op() == Op::kMemCopy || node.op() == Op::kTransData;
}

class StreamAssigner {
 public:
  explicit StreamAssigner(Graph& graph) : graph_(graph) {}

  void run() {
    graph_.streams.clear();
    for (Node* task : tasks_of(graph_)) {
      const std::string& label = task->placement.stream_label;
      task->placement.stream = stream(label.empty() ? std::string(kMainStream) : label);
      if (copies(*task)) task->placement.engine = EngineId::kRts;
    }
    if (graph_.streams.empty()) stream(std::string(kMainStream));
  }

 private:
  int32_t stream(const std::string& name) {
    const auto [found, is_new] =
        streams_.try_emplace(name, static_cast<int32_t>(graph_.streams.size()));
    if (is_new) graph_.streams.push_back(name);
    return found->second;
  }

  Graph& graph_;
  std::map<std::string, int32_t> streams_;
};

}  // namespace

Result<bool> assign_streams(Graph& root, const Options&) {
  for (Graph* graph : scheduled_graphs(root)) StreamAssigner(*graph).run();
  return true;
}

}  // namespace sluice
