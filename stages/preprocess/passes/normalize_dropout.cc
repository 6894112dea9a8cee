// Replaces Dropout outside training by an Identity.
//
//   before:  %y, %mask = Dropout(%x, %ratio)
//   after:   %y = Identity(%x)   %mask = constant true
//
// Legal where `training_mode` is absent or a constant false. sluice-optimize removes the Identity.
#include <optional>

#include "common/base/work.h"
#include "stages/preprocess/passes/passes.h"

namespace sluice {
namespace {

// Returns nothing when it is known only at run time.
std::optional<bool> is_training(const Node& node) {
  const Value* mode = node.input(2);
  if (mode == nullptr) return false;
  if (!mode->is_constant()) return std::nullopt;
  const Segment& segment = node.graph().module().segment(mode->segment());
  if (segment.kind != SegmentKind::kSmall || segment.data.size() != 1) return std::nullopt;
  return segment.data[0] != std::byte{0};
}

Result<bool> normalize_dropout_node(Node& node) {
  if (node.op() != Op::kDropout) return false;
  if (is_training(node) != false) return false;
  Graph& graph = node.graph();
  if (node.output_count() > 1) {
    Value& mask = node.output(1);
    if (mask.is_used()) {
      if (!mask.type().is_fixed() || mask.type().dtype != DType::kBool) return false;
      const std::byte yes{1};
      const SegmentId segment = graph.module().make_splat(mask.type_id(), {&yes, 1});
      graph.replace_all_uses(mask, graph.add_constant(segment, mask.name()));
    }
    node.remove_last_output();
  }
  while (node.input_count() > 1) node.remove_last_input();
  while (!node.attributes().empty())
    node.remove_attribute(std::string(node.attributes().front().name));
  node.set_op(Op::kIdentity);
  return true;
}

Result<bool> normalize_dropouts(Graph& graph) {
  bool changed = false;
  add_work(Work::kNodeVisits, graph.node_count());
  for (Node& node : graph.nodes()) {
    SLUICE_ASSIGN(const bool node_changed, normalize_dropout_node(node));
    changed = changed || node_changed;
    for (const GraphId body : node.bodies()) {
      SLUICE_ASSIGN(const bool body_changed, normalize_dropouts(graph.module().graph(body)));
      changed = changed || body_changed;
    }
  }
  return changed;
}

}  // namespace

Result<bool> normalize_dropout(Graph& graph, const Options&) { return normalize_dropouts(graph); }

}  // namespace sluice
