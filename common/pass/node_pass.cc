#include "common/pass/node_pass.h"

#include "common/base/work.h"
#include "common/ir/module.h"

namespace sluice {
namespace {

constexpr size_t kManyInputs = 1000;
constexpr int kDeepestBody = 25;
constexpr size_t kVisitsPerNode = 10;

// Orders nodes breadth first from those without inputs; a node follows when its last producer was
// taken.
std::deque<Node*> breadth_first(Graph& graph) {
  std::vector<uint32_t> waiting(graph.node_limit(), 0);
  std::deque<Node*> ready;
  std::deque<Node*> wide;
  for (Node& node : graph.nodes()) {
    uint32_t& count = waiting[static_cast<size_t>(node.id())];
    for (size_t i = 0; i < node.input_count(); ++i)
      count += node.input(i) != nullptr && node.input(i)->producer() != nullptr ? 1 : 0;
    if (count == 0) ready.push_back(&node);
  }
  std::deque<Node*> order;
  while (!ready.empty() || !wide.empty()) {
    std::deque<Node*>& queue = ready.empty() ? wide : ready;
    Node* node = queue.front();
    queue.pop_front();
    order.push_back(node);
    for (size_t i = 0; i < node->output_count(); ++i) {
      for (const Use& use : node->output(i).uses()) {
        if (--waiting[static_cast<size_t>(use.node->id())] == 0)
          (use.node->input_count() > kManyInputs ? wide : ready).push_back(use.node);
      }
    }
  }
  return order;
}

}  // namespace

class NodePassDriver {
 public:
  NodePassDriver(std::span<const NodePass> passes, const Options& options)
      : passes_(passes), options_(options) {}

  Result<bool> run(Graph& graph, int depth) {
    SLUICE_TRY(graph.restore_order());
    NodeVisits visits;
    std::deque<Node*> queue = breadth_first(graph);
    size_t budget = kVisitsPerNode * queue.size();
    while (!queue.empty()) {
      while (!queue.empty() && budget > 0) {
        Node* node = queue.front();
        queue.pop_front();
        if (node->is_erased()) continue;
        --budget;
        add_work(Work::kNodeVisits);
        SLUICE_TRY(visit(*node, visits, depth));
        queue.insert(queue.begin(), visits.now_.begin(), visits.now_.end());
        visits.now_.clear();
      }
      if (budget == 0) break;
      queue.assign(visits.later_.begin(), visits.later_.end());
      visits.later_.clear();
    }
    return changed_;
  }

 private:
  Result<void> visit(Node& node, NodeVisits& visits, int depth) {
    SLUICE_TRY(run_all(node, visits));
    if (node.is_erased() || depth >= kDeepestBody) return {};
    const std::vector<GraphId> bodies = node.bodies();
    for (const GraphId body : bodies) SLUICE_TRY(run(node.graph().module().graph(body), depth + 1));
    if (!bodies.empty()) SLUICE_TRY(run_all(node, visits));
    return {};
  }

  Result<void> run_all(Node& node, NodeVisits& visits) {
    for (const NodePass& pass : passes_) {
      if (node.is_erased()) return {};
      auto result = pass.run(node, visits, options_);
      if (!result) return std::move(result).error().within(std::string(pass.name));
      changed_ = changed_ || *result;
    }
    return {};
  }

  std::span<const NodePass> passes_;
  const Options& options_;
  bool changed_ = false;
};

Result<bool> run_node_passes(Graph& graph, std::span<const NodePass> passes,
                             const Options& options) {
  return NodePassDriver(passes, options).run(graph, 0);
}

}  // namespace sluice
