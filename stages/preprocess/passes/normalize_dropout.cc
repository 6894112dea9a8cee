// Makes Dropout what it is outside training: nothing.
//
//   before:  %y, %mask = Dropout(%x, %ratio)
//   after:   %y = Identity(%x)   %mask = constant true
//
// Legal where `training_mode` is absent or a constant false. sluice-optimize removes the Identity. A constant true is an error unless the
// ratio may be 0: what training drops is random, which nothing below can run.
#include <optional>

#include "common/base/work.h"
#include "common/ops/small_constant.h"
#include "stages/preprocess/passes/passes.h"

namespace sluice {
namespace {

// Nothing: known only when the model runs.
std::optional<bool> is_training(const Node& node) {
  const Value* mode = node.input(2);
  if (mode == nullptr) return false;
  if (!mode->is_constant()) return std::nullopt;
  const Segment& segment = node.graph().module().segment(mode->segment());
  if (segment.kind != SegmentKind::kSmall || segment.data.size() != 1) return std::nullopt;
  return segment.data[0] != std::byte{0};
}

bool may_drop_nothing(const Node& node) {
  const Value* ratio = node.input(1);
  if (ratio == nullptr) return false;  // 0.5
  if (!ratio->is_constant()) return true;
  const auto reals = read_small_reals(node.graph().module(), ratio->segment());
  return !reals || reals->size() != 1 || reals->front() == 0;
}

Result<bool> normalize(Node& node) {
  if (node.op() != Op::kDropout) return false;
  const auto training = is_training(node);
  if (training == true && !may_drop_nothing(node)) {
    return make_error(ErrorCode::kUnsupportedOp, "{}: drops at random, as in training, which this release cannot run", node.label())
        .with_hint("export the model for inference");
  }
  if (training != false) return false;
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

Result<bool> normalize(Graph& graph) {
  bool changed = false;
  add_work(Work::kNodeVisits, graph.node_count());
  for (Node& node : graph.nodes()) {
    SLUICE_ASSIGN(const bool node_changed, normalize(node));
    changed = changed || node_changed;
    for (const GraphId body : node.bodies()) {
      SLUICE_ASSIGN(const bool body_changed, normalize(graph.module().graph(body)));
      changed = changed || body_changed;
    }
  }
  return changed;
}

}  // namespace

Result<bool> normalize_dropout(Graph& graph, const Options&) { return normalize(graph); }

}  // namespace sluice
