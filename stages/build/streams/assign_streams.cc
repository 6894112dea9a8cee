// Gives every task a stream: that of its label, or "main"; with --enable-single-stream always
// "main". Streams are numbered in the order of their first task. Copies run on the engine rts:
// those of all elements, and a Concat that appends to a state in place, which copies the new ones.
#include <unordered_map>

#include "common/ir/append_axis.h"
#include "stages/build/parts.h"
#include "stages/build/passes/passes.h"
#include "stages/build/streams/stream_options.h"

namespace sluice {
namespace {

bool copies(const Node& node) {
  if (node.placement.kernel >= 0) return false;
  const bool appends = node.op() == Op::kConcat && append_axis(node.output());
  return appends || node.op() == Op::kMemCopy || node.op() == Op::kTransData;
}

class StreamAssigner {
 public:
  StreamAssigner(Graph& graph, bool is_single) : graph_(graph), is_single_(is_single) {}

  void run() {
    graph_.streams.clear();
    for (Node* task : tasks_of(graph_)) {
      const StreamLabel& label = task->placement.stream_label;
      const bool is_main = label.empty() || is_single_;
      task->placement.stream = stream(is_main ? std::string(kMainStream) : label.text);
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
  const bool is_single_;
  std::unordered_map<std::string, int32_t> streams_;
};

}  // namespace

Result<bool> assign_streams(Graph& root, const Options& options) {
  SLUICE_ASSIGN(const DeviceProfile profile, get_profile(options.text("profile")));
  const bool is_single = options.flag("enable-single-stream");
  for (Graph* graph : scheduled_graphs(root)) {
    if (is_single) SLUICE_TRY(check_single_stream(*graph));
    StreamAssigner(*graph, is_single).run();
    SLUICE_TRY(
        check_limit(*graph, profile, "streams", graph->streams.size(), profile.streams.max_streams,
                    "give nodes fewer stream labels, or --multi-stream-parallel-mode a smaller "
                    "number"));
  }
  return true;
}

}  // namespace sluice
