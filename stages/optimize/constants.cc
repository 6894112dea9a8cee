#include "stages/optimize/constants.h"

#include <algorithm>
#include <cstring>

#include "common/ops/attributes.h"
#include "common/target/aicore.h"

namespace sluice {

bool is_filled_with(const Value& value, double number) {
  if (!value.is_constant()) return false;
  const Segment& segment = value.graph().module().segment(value.segment());
  if (segment.kind != SegmentKind::kSmall && segment.kind != SegmentKind::kSplat) return false;
  const std::vector<std::byte> element = number_bytes(value.type().dtype, number);
  if (element.empty() || segment.data.empty() || segment.data.size() % element.size() != 0)
    return false;
  for (size_t i = 0; i < segment.data.size(); i += element.size()) {
    if (std::memcmp(segment.data.data() + i, element.data(), element.size()) != 0) return false;
  }
  return true;
}

bool is_weight(const Value* value) {
  if (value == nullptr || !value->is_constant() || value->is_input()) return false;
  return is_contraction_dtype(value->type().dtype) && value->type().is_fixed();
}

Value& ConstantExpression::input(SegmentId segment) {
  const auto known = std::find(segments_.begin(), segments_.end(), segment);
  if (known != segments_.end())
    return *graph_.inputs()[static_cast<size_t>(known - segments_.begin())];
  segments_.push_back(segment);
  return graph_.add_input(graph_.module().segment(segment).type);
}

Value& ConstantExpression::number(float value) { return *add_number(graph_, DType::kF32, value); }

Value& ConstantExpression::node_like(Op op, const std::vector<Value*>& operands,
                                     const Value& like) {
  Value& result = graph_.add_node(op, operands).output();
  result.set_type(like.type_id());
  return result;
}

Value& ConstantExpression::node(Op op, const std::vector<Value*>& operands) {
  return node_like(op, operands, *operands[0]);
}

Value& ConstantExpression::reshape(Value& value, const std::vector<int64_t>& extents) {
  Value& result = graph_.add_node(Op::kReshape, {&value, &add_ints(graph_, extents)}).output();
  result.set_type(Type::fixed_tensor(value.type().dtype, extents));
  return result;
}

Value& ConstantExpression::cast(Value& value, DType dtype) {
  if (value.type().dtype == dtype) return value;
  Node& node = graph_.add_node(Op::kCast, {&value});
  node.set(attributes::Cast::to, static_cast<int64_t>(dtype));
  Type type = value.type();
  type.dtype = dtype;
  node.output().set_type(std::move(type));
  return node.output();
}

SegmentId ConstantExpression::finish(Value& result) {
  graph_.add_output(result);
  const TypeId type = result.type_id();
  return graph_.module().make_expression(type, graph_.id(), segments_);
}

}  // namespace sluice
