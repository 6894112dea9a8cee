// Scan of opset 8 runs over every element of a batch, the first axis of all its inputs and outputs.
//
//   before:  %y = Scan-8(absent, %state, %x) {body = @step}
//   after:   %y = Scan(%state, %x) {body = @step.batch, num_scan_inputs = 2}
//            @step.batch(%state, %x): %y = Scan(%state, %x) {body = @step, num_scan_inputs = 1}
//
// Captures of the body are captures of both.
#include "common/ops/attributes.h"
#include "stages/preprocess/onnx/old_attributes.h"
#include "stages/preprocess/onnx/upgrade_forms.h"

namespace sluice {
namespace {

// Adds the computation of one element of the batch, as the body of the Scan over all.
Graph& add_batch_body(const Node& node, Graph& step) {
  Graph& batch = node.graph().module().add_graph(step.name() + ".batch", GraphRole::kBody);
  batch.captures = step.captures;
  std::vector<Value*> inputs;
  for (const Value* input : step.inputs()) inputs.push_back(&batch.add_input(0, input->name()));
  Node& scan = batch.add_node(Op::kScan, inputs, node.output_count());
  scan.set_name(node.name().empty() ? "scan" : node.name() + "/scan");
  scan.set(attributes::Scan::num_scan_inputs, node.get(attributes::Scan::num_scan_inputs, 1));
  const std::vector<int64_t> directions = node.get(old_attributes::directions);
  if (!directions.empty()) scan.set(attributes::Scan::scan_input_directions, directions);
  scan.set(attributes::Scan::body, GraphRef{step.id()});
  for (size_t k = 0; k < scan.output_count(); ++k) batch.add_output(scan.output(k));
  return batch;
}

}  // namespace

Result<void> scan_of_batches(UpgradeCall& call) {
  Node& node = *call.node;
  Graph* step = node.get(attributes::Scan::body);
  if (step == nullptr) return make_error(ErrorCode::kBadModel, "{}: it has no body", node.label());
  if (node.input_count() != step->inputs().size() + 1) {
    return make_error(ErrorCode::kBadModel,
                      "{}: it has {} inputs behind sequence_lens, its body {}", node.label(),
                      node.input_count() - std::min<size_t>(node.input_count(), 1),
                      step->inputs().size());
  }
  if (node.input(0) != nullptr) {
    return make_error(ErrorCode::kUnsupportedOp,
                      "{}: input 'sequence_lens' of Scan in opset 8 is not supported", node.label())
        .with_hint(
            "give all sequences of the batch one length, or export the model with opset 9 or "
            "newer");
  }
  const Graph& batch = add_batch_body(node, *step);
  const auto elements = static_cast<int64_t>(step->inputs().size() - step->captures);
  for (size_t i = 1; i < node.input_count(); ++i) node.set_input(i - 1, node.input(i));
  node.remove_last_input();
  node.remove(old_attributes::directions);
  node.set(attributes::Scan::num_scan_inputs, elements);
  node.set(attributes::Scan::body, GraphRef{batch.id()});
  return {};
}

}  // namespace sluice
