// Makes matrix products and a softmax of FlexAttention, with the nodes of its bodies between them.
//
//   before:  %y = FlexAttention(%q, %k, %v, %c) {score_mod = @s, prob_mod = @p}
//   after:   %1 = MatMul(%q, %k')   %2 = Mul(%1, scale)   %3 = the nodes of @s over %2 and %c
//            %4 = Softmax(%3)       %5 = the nodes of @p over %4 and %c   %y = MatMul(%5, %v)
//
// Legal because these are the operator's formulas, as common/eval/flex_attention.cc computes them.
// Bodies see scores and probabilities in the dtype that softmax_precision names, by default f32;
// sums are in f32. attention_parts.h says which nodes stay.
#include "common/ir/clone.h"
#include "common/ops/attributes.h"
#include "common/pass/editor.h"
#include "stages/optimize/node_maker.h"
#include "stages/optimize/passes/attention_parts.h"
#include "stages/optimize/passes/passes.h"

namespace sluice {
namespace {

using Attributes = attributes::FlexAttention;

// Inputs of the node before those that its bodies capture.
constexpr size_t kOwnInputs = 3;

Type score_type(const Node& node, const AttentionForm& form) {
  const int64_t dtype = node.get(Attributes::softmax_precision, static_cast<int64_t>(DType::kF32));
  return Type::tensor(static_cast<DType>(dtype),
                      {form.batch, Dim::fixed(form.heads), form.queries, form.keys});
}

bool keeps(const Graph* body, const Type& type) {
  return body == nullptr ||
         (body->inputs()[0]->type() == type && body->outputs()[0]->type() == type);
}

// Returns what the body makes of the value.
Value& modified(NodeMaker& make, const Node& node, const Graph* body, Value& value) {
  if (body == nullptr) return value;
  ModuleMapper mapper(body->module(), body->module());
  std::vector<Value*> values(body->value_limit(), nullptr);
  const std::vector<Value*>& inputs = body->inputs();
  for (size_t i = 0; i < inputs.size(); ++i)
    values[static_cast<size_t>(inputs[i]->id())] = i == 0 ? &value : node.input(kOwnInputs + i - 1);
  for (const Node& inner : body->nodes()) make.copy(inner, mapper, values);
  return *mapper.value(*body->outputs()[0], node.graph(), values);
}

void replace_flex_attention(Editor& editor, Node& node, const AttentionForm& form) {
  const Type type = score_type(node, form);
  NodeMaker make(editor, node);
  AttentionMaker parts(make, node, form);
  const auto scale =
      node.has(Attributes::scale) ? std::optional(node.get(Attributes::scale)) : std::nullopt;
  Value& scores = parts.by_query_head(parts.scores(*node.input(0), *node.input(1), scale));
  Value& changed =
      modified(make, node, node.get(Attributes::score_mod), make.cast(scores, type.dtype));
  Node& softmax = make.node(Op::kSoftmax, {&changed}, type);
  softmax.set(attributes::Softmax::axis, int64_t{3});
  Value& weights = modified(make, node, node.get(Attributes::prob_mod), softmax.output());
  Value& sums = parts.weighted(make.cast(weights, DType::kF32), *node.input(2));
  make.give(0, make.cast(sums, node.output().type().dtype));
  make.finish();
}

bool rewrite_flex_attention(Editor& editor, Node& node) {
  if (node.op() != Op::kFlexAttention) return false;
  const auto form = read_removable_form(node);
  if (!form || !keeps(node.get(Attributes::score_mod), score_type(node, *form)) ||
      !keeps(node.get(Attributes::prob_mod), score_type(node, *form)))
    return false;
  replace_flex_attention(editor, node, *form);
  return true;
}

}  // namespace

Result<bool> decompose_flex_attention(Graph& root, const Options&) {
  return on_every_node(root, rewrite_flex_attention);
}

}  // namespace sluice
