// Node passes: small rewrites of one node each, run together by one driver with the catalogue's
// rules for revisiting nodes.
#pragma once

#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

// The requests of a node pass to the driver.
class NodeVisits {
 public:
  // Visits the node again in this round, before the remaining queue.
  void revisit_now(Node& node) { now_.push_back(&node); }
  // Visits the node again after this round.
  void revisit_later(Node& node) { later_.push_back(&node); }

 private:
  friend class NodePassDriver;
  std::deque<Node*> now_;
  std::vector<Node*> later_;
};

struct NodePass {
  std::string_view name;
  // Returns true when it changed the graph.
  Result<bool> (*run)(Node& node, NodeVisits& visits, const Options& options);
};

// Runs the passes in order on every node: breadth first from the nodes without inputs, a node after
// all its producers, nodes with more than 1,000 inputs last. A node with bodies is visited, then
// its bodies' nodes (25 levels deep at most), then the node again. A pass that erases the node ends
// its visit. Termination: at most 10 visits per node on average; after that the remaining queue is
// dropped. Returns true when anything changed.
Result<bool> run_node_passes(Graph& graph, std::span<const NodePass> passes,
                             const Options& options);

}  // namespace sluice
