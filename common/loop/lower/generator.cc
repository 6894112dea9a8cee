// Operators that make elements from places and sizes: EyeLike, Range, ConstantOfShape, Shape, Size.
#include <algorithm>

#include "common/loop/lower/families.h"
#include "common/loop/lower/reasons.h"
#include "common/ops/attributes.h"
#include "common/ops/small_constant.h"

namespace sluice::loop {
namespace {

Result<Id> eye_like(Lowering& l, const Node& node, size_t, const Index& index) {
  const ExpressionId distance = l.table().subtract(index[1], index[0]);
  const Id is_one = l.scalar(ScalarOp::kEqual, l.index_value(distance),
                             l.integer(DType::kI64, node.get(attributes::EyeLike::k)));
  return l.cast(is_one, register_dtype(node.output().type().dtype));
}

// start + i * delta
Result<Id> range(Lowering& l, const Node& node, size_t, const Index& index) {
  SLUICE_ASSIGN(const Id start, l.element(*node.input(0), l.first(*node.input(0))));
  SLUICE_ASSIGN(const Id delta, l.element(*node.input(2), l.first(*node.input(2))));
  const Id place = l.cast(l.index_value(index[0]), l.dtype_of(start));
  return l.scalar(ScalarOp::kAdd, start, l.scalar(ScalarOp::kMul, place, delta));
}

// ---- ConstantOfShape

SegmentId value_of(const Node& node) { return node.get(attributes::ConstantOfShape::value); }

Result<Id> constant_of_shape(Lowering& l, const Node& node, size_t, const Index&) {
  const DType dtype = register_dtype(node.output().type().dtype);
  if (value_of(node) < 0) return l.real(dtype, 0);
  const Module& module = node.graph().module();
  if (const auto reals = read_small_reals(module, value_of(node)))
    return l.real(dtype, (*reals)[0]);
  return l.integer(dtype, (*read_small_integers(module, value_of(node)))[0]);
}

std::string constant_of_shape_reason(const Node& node) {
  if (value_of(node) < 0) return {};
  const Module& module = node.graph().module();
  const bool at_hand =
      read_small_reals(module, value_of(node)) || read_small_integers(module, value_of(node));
  return at_hand ? std::string() : "the bytes of the value are not in the graph";
}

// ---- Shape, Size

// A dim by its place.
Result<Id> shape(Lowering& l, const Node& node, size_t, const Index& index) {
  const Index extents = l.extents(*node.input(0));
  const auto rank = static_cast<int64_t>(extents.size());
  const int64_t given = node.get(attributes::Shape::start);
  const int64_t start = std::clamp<int64_t>(given < 0 ? given + rank : given, 0, rank);
  const auto count = node.output().type().dims[0].value;
  if (const auto place = l.table().as_constant(index[0]); place && rank > 0) {
    const int64_t axis = std::clamp<int64_t>(start + *place, 0, rank - 1);
    return l.index_value(extents[static_cast<size_t>(axis)]);
  }
  Id result = l.integer(DType::kI64, 0);
  for (int64_t i = 0; i < count; ++i) {
    const Id is_here =
        l.scalar(ScalarOp::kEqual, l.index_value(index[0]), l.integer(DType::kI64, i));
    result = l.scalar(ScalarOp::kSelect, is_here,
                      l.index_value(extents[static_cast<size_t>(start + i)]), result);
  }
  return result;
}

Result<Id> size(Lowering& l, const Node& node, size_t, const Index&) {
  return l.index_value(l.product(l.extents(*node.input(0))));
}

constexpr LoweringRow kGeneratorRows[] = {
    {Op::kEyeLike, nullptr, eye_like},
    {Op::kRange, nullptr, range},
    {Op::kConstantOfShape, constant_of_shape_reason, constant_of_shape},
    {Op::kShape, nullptr, shape},
    {Op::kSize, nullptr, size},
};

}  // namespace

std::span<const LoweringRow> generator_rows() { return kGeneratorRows; }

}  // namespace sluice::loop
