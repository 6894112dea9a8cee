#include "stages/optimize/passes/attention_parts.h"

#include <cmath>

#include "common/ops/attributes.h"
#include "common/ops/dim_math.h"

namespace sluice {

std::optional<AttentionForm> read_removable_form(const Node& node) {
  const bool is_of_fusion = node.has(attributes::Attention::hidden_score);
  if (!is_removable(node) || node.placement.engine != EngineId::kNone || is_of_fusion)
    return std::nullopt;
  const auto form = read_attention_form(node);
  if (!form || grouped_queries(node, *form).is_unknown()) return std::nullopt;
  return form;
}

Dim grouped_queries(const Node& node, const AttentionForm& form) {
  return DimMath(node.graph().module()).multiply(form.queries, form.heads / form.kv_heads);
}

Value& heads_of(NodeMaker& make, const Node& node, const AttentionForm& form, size_t input) {
  Value& x = *node.input(input);
  if (x.type().rank() == 4) return x;
  const int64_t heads = input == 0 ? form.heads : form.kv_heads;
  const int64_t size = input == 2 ? form.value_size : form.key_size;
  const std::vector<Dim> dims = x.type().dims;
  return make.transpose(make.reshape(x, {dims[0], dims[1], Dim::fixed(heads), Dim::fixed(size)}),
                        {0, 2, 1, 3});
}

Value& with_past(NodeMaker& make, const Node& node, const AttentionForm& form, size_t input,
                 size_t past) {
  Value& now = heads_of(make, node, form, input);
  if (node.input(past) == nullptr) return now;
  Type type = now.type();
  type.dims[2] = form.keys;
  Node& joint = make.node(Op::kConcat, {node.input(past), &now}, type);
  joint.set(attributes::Concat::axis, int64_t{2});
  return joint.output();
}

Value& AttentionMaker::viewed(Value& x, int64_t heads, const Dim& rows, const Dim& last) {
  return form_.heads == form_.kv_heads
             ? x
             : make_.reshape(x, {form_.batch, Dim::fixed(heads), rows, last});
}

Value& AttentionMaker::by_query_head(Value& scores) {
  return viewed(scores, form_.heads, form_.queries, form_.keys);
}

Value& AttentionMaker::scores(Value& queries, Value& keys, std::optional<float> scale) {
  Value& rows = viewed(make_.cast(queries, DType::kF32), form_.kv_heads, grouped_queries_,
                       Dim::fixed(form_.key_size));
  Value& columns = make_.transpose(make_.cast(keys, DType::kF32), {0, 1, 3, 2});
  const Type type = Type::tensor(
      DType::kF32, {form_.batch, Dim::fixed(form_.kv_heads), grouped_queries_, form_.keys});
  Value& products = make_.add(Op::kMatMul, {&rows, &columns}, type);
  const double root = std::sqrt(static_cast<double>(form_.key_size));
  Value& factor = make_.number(scale.value_or(static_cast<float>(1 / root)));
  return make_.add(Op::kMul, {&products, &factor}, type);
}

Value& AttentionMaker::weighted(Value& weights, Value& values) {
  const Dim size = Dim::fixed(form_.value_size);
  Value& rows = viewed(weights, form_.kv_heads, grouped_queries_, form_.keys);
  Value& sums = make_.add(
      Op::kMatMul, {&rows, &make_.cast(values, DType::kF32)},
      Type::tensor(DType::kF32, {form_.batch, Dim::fixed(form_.kv_heads), grouped_queries_, size}));
  return viewed(sums, form_.heads, form_.queries, size);
}

}  // namespace sluice
