// Node passes: small rewrites that look at one node, run together under one driver with the
// catalogue's re-pass rules.
#pragma once

#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

// What a node pass may ask the driver for.
class NodeVisits {
 public:
  void revisit_now(Node& node) {
    now_.push_back(&node);
  }  // again in this round, before the rest of the queue
  void revisit_later(Node& node) { later_.push_back(&node); }  // again after this round

 private:
  friend class NodePassDriver;
  std::deque<Node*> now_;
  std::vector<Node*> later_;
};

struct NodePass {
  std::string_view name;
  Result<bool> (*run)(Node& node, NodeVisits& visits,
                      const Options& options);  // answers whether it changed the graph
};

// Runs the passes in order on every node: breadth first from the nodes without inputs, a node after
// all its producers, nodes with more than 1,000 inputs last. A node with bodies is visited, then
// its bodies' nodes (25 levels deep at most), then the node again. A pass that erases the node ends
// its visit. Termination: at most 10 visits per node on average; past that the rest of the queue is
// dropped. Answers whether anything changed.
Result<bool> run_node_passes(Graph& graph, std::span<const NodePass> passes,
                             const Options& options);

}  // namespace sluice
