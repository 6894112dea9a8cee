#include "common/ops/infer.h"

#include "common/base/work.h"
#include "common/ops/infer_call.h"
#include "common/ops/infer_steps.h"
#include "common/ops/op_table.h"
#include "common/ops/small_constant.h"

namespace sluice {

const std::vector<ExpressionId>* ValueFacts::find(const Value& value) {
  const auto index = static_cast<size_t>(value.id());
  if (index >= facts_.size()) facts_.resize(value.graph().value_limit());
  std::optional<std::vector<ExpressionId>>& fact = facts_[index];
  if (!fact && value.is_constant()) {
    if (const auto elements = read_small_integers(value.graph().module(), value.segment())) {
      fact.emplace();
      for (const int64_t element : *elements)
        fact->push_back(value.graph().module().expressions.constant(element));
    }
  }
  return fact ? &*fact : nullptr;
}

void ValueFacts::set(const Value& value, std::vector<ExpressionId> elements) {
  const auto index = static_cast<size_t>(value.id());
  if (index >= facts_.size()) facts_.resize(value.graph().value_limit());
  facts_[index] = std::move(elements);
}

namespace {

Result<void> check_kinds(const InferCall& call) {
  for (size_t i = 0; i < call.input_count(); ++i) {
    const TypeKind kind = call.input_type(i).kind;
    if (kind == TypeKind::kTensor || kind == TypeKind::kUnknown) continue;
    return call.bad_node("{} is not a tensor", call.input_name(i));
  }
  return {};
}

}  // namespace

Result<bool> infer_node_in(Node& node, ValueFacts& facts, int body_depth) {
  add_work(Work::kInferences);
  SLUICE_TRY(check_signature(node));
  const OpRow* row = find_op(node.op());
  InferCall call(node, facts, body_depth);
  if ((row->flags & kAnyKind) == 0) SLUICE_TRY(check_kinds(call));
  SLUICE_TRY(row->infer(call));
  infer_values(call);
  return call.changed;
}

Result<bool> infer_graph_in(Graph& graph, ValueFacts& facts, int body_depth) {
  bool changed = false;
  for (Node& node : graph.nodes()) {
    SLUICE_ASSIGN(const bool node_changed, infer_node_in(node, facts, body_depth));
    changed = changed || node_changed;
  }
  return changed;
}

Result<bool> infer_node(Node& node, ValueFacts& facts) { return infer_node_in(node, facts, 0); }

Result<bool> infer_graph(Graph& graph, ValueFacts& facts) {
  return infer_graph_in(graph, facts, 0);
}

}  // namespace sluice
