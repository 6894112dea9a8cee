#include "common/pass/fold_over_constants.h"

#include "common/base/work.h"
#include "common/eval/eval.h"
#include "common/eval/steps.h"
#include "common/ops/op_table.h"

namespace sluice {
namespace {

bool is_readable(const Module& module, const Value& value) {
  if (!value.is_constant()) return false;
  const SegmentKind kind = module.segment(value.segment()).kind;
  return kind == SegmentKind::kSmall || kind == SegmentKind::kBytes || kind == SegmentKind::kSplat;
}

bool is_foldable(const Node& node) {
  const OpRow* row = find_op(node.op());
  if (row == nullptr || (row->flags & (kRandom | kControlFlow)) != 0 || !is_evaluable(node.op()))
    return false;
  if (!is_removable(node) || node.placement.no_fold || !node.bodies().empty() ||
      node.input_count() == 0)
    return false;
  const Module& module = node.graph().module();
  uint64_t bytes = 0;
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (node.input(i) == nullptr) continue;
    if (!is_readable(module, *node.input(i))) return false;
    bytes += module.segment(node.input(i)->segment()).size;
  }
  for (size_t i = 0; i < node.output_count(); ++i) {
    const Type& type = node.output(i).type();
    const bool is_sized = type.is_tensor() && type.is_fixed() && type.dense_bytes().has_value();
    if (!is_sized || is_model_output(node.output(i))) return false;
    bytes += *type.dense_bytes();
  }
  return bytes <= kFoldLimitBytes && hidden_steps(node) <= kMaxFoldSteps;
}

Result<std::vector<EvalValue>> evaluate(const Node& node) {
  std::vector<EvalValue> operands;
  std::vector<const EvalValue*> inputs;
  operands.reserve(node.input_count());
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (node.input(i) == nullptr) {
      inputs.push_back(nullptr);
      continue;
    }
    SLUICE_ASSIGN(Tensor tensor, evaluate_segment(node.graph().module(), node.input(i)->segment()));
    operands.push_back(EvalValue::of(std::move(tensor)));
    inputs.push_back(&operands.back());
  }
  return evaluate_node(node, inputs);
}

// Returns false when some result does not have the type that the node declares.
bool has_types_of(const Node& node, const std::vector<EvalValue>& results) {
  if (results.size() < node.output_count()) return false;
  for (size_t i = 0; i < node.output_count(); ++i) {
    if (results[i].kind != EvalValue::Kind::kTensor || results[i].tensor == nullptr) return false;
    if (Type::fixed_tensor(results[i].tensor->dtype, results[i].tensor->dims) !=
        node.output(i).type())
      return false;
  }
  return true;
}

}  // namespace

bool fold_over_constants(Editor& editor, Node& node) {
  if (!is_foldable(node)) return false;
  add_work(Work::kFoldings);
  const auto results = evaluate(node);
  if (!results || !has_types_of(node, *results)) return false;
  Graph& graph = node.graph();
  for (size_t i = 0; i < node.output_count(); ++i) {
    const TensorBytes& bytes = (*results)[i].tensor->bytes;
    Value& output = node.output(i);
    const SegmentId segment =
        graph.module().make_constant(output.type_id(), {bytes.begin(), bytes.end()});
    editor.replace(output, graph.add_constant(segment, output.name()));
  }
  editor.erase_unused(node);
  return true;
}

}  // namespace sluice
