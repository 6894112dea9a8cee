#include "stages/build/memory/complete_views.h"

#include <algorithm>

#include "common/ops/pieces.h"

namespace sluice {
namespace {

// Returns the values whose bytes a node without a task shows: all pieces that a Concat puts
// together, otherwise the one that is viewed or taken apart.
std::vector<const Value*> shown_by(const Node& node) {
  return node.op() == Op::kConcat ? pieces_of(node) : std::vector<const Value*>{node.input(0)};
}

}  // namespace

void complete_views(Graph& graph) {
  std::vector<int32_t> made_by(graph.value_limit(), -1);
  int32_t position = 0;
  for (Node& node : graph.nodes()) {
    int32_t last = node.placement.no_task ? -1 : position++;
    node.placement.complete_after = -1;
    if (node.placement.no_task) {
      for (const Value* shown : shown_by(node))
        last = std::max(last, made_by[static_cast<size_t>(shown->id())]);
      node.placement.complete_after = last;
    }
    for (size_t k = 0; k < node.output_count(); ++k)
      made_by[static_cast<size_t>(node.output(k).id())] = last;
  }
}

}  // namespace sluice
