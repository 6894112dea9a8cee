// Makes Dropout what it is outside training: nothing.
//
//   before:  %y, %mask = Dropout(%x, %ratio)
//   after:   %y = Identity(%x)   %mask = constant true
//
// Legal where `training_mode` is absent or a constant false. sluice-optimize removes the Identity.
#include <optional>

#include "stages/preprocess/passes/passes.h"

namespace sluice {
namespace {

bool is_training(const Node& node) {
  const Value* mode = node.input(2);
  if (mode == nullptr) return false;
  if (!mode->is_constant()) return true;
  const Segment& segment = node.graph().module().segment(mode->segment());
  return segment.kind != SegmentKind::kSmall || segment.data.size() != 1 || segment.data[0] != std::byte{0};
}

bool normalize(Node& node) {
  if (node.op() != Op::kDropout || is_training(node)) return false;
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
  while (!node.attributes().empty()) node.remove_attribute(std::string(node.attributes().front().name));
  node.set_op(Op::kIdentity);
  return true;
}

bool normalize(Graph& graph) {
  bool changed = false;
  for (Node& node : graph.nodes()) {
    changed = normalize(node) || changed;
    for (const GraphId body : node.bodies()) changed = normalize(graph.module().graph(body)) || changed;
  }
  return changed;
}

}  // namespace

Result<bool> normalize_dropout(Graph& graph, const Options&) { return normalize(graph); }

}  // namespace sluice
