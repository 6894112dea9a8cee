// Operators that read elements at places that an input names: Gather, GatherElements, GatherND,
// TensorScatter, OneHot.
#include "common/loop/lower/families.h"
#include "common/loop/lower/operands.h"
#include "common/loop/lower/reasons.h"
#include "common/ops/attributes.h"

namespace sluice::loop {
namespace {

// y[before, places, after] = x[before, indices[places], after]
Result<Id> gather(Lowering& l, const Node& node, size_t, const Index& index) {
  const Value &x = *node.input(0), &indices = *node.input(1);
  const size_t rank = x.type().dims.size();
  const auto axis =
      static_cast<std::ptrdiff_t>(Lowering::axis_of(node.get(attributes::Gather::axis), rank));
  const auto places = static_cast<std::ptrdiff_t>(indices.type().dims.size());
  const auto first = index.begin() + axis;
  SLUICE_ASSIGN(const Id place, l.element(indices, Index(first, first + places)));
  const ExpressionId extent = l.extent(x, static_cast<size_t>(axis));
  Index own(index.begin(), first);
  own.push_back(l.checked_index(place, extent));
  own.insert(own.end(), first + places, index.end());
  return l.element_if(x, own, {l.not_empty(extent)});
}

// y[i, j, k] = x[i, indices[i, j, k], k] for the axis in the middle.
Result<Id> gather_elements(Lowering& l, const Node& node, size_t, const Index& index) {
  const Value& x = *node.input(0);
  const size_t axis = Lowering::axis_of(node.get(attributes::Gather::axis), index.size());
  SLUICE_ASSIGN(const Id place, l.element(*node.input(1), index));
  const ExpressionId extent = l.extent(x, axis);
  Index own = index, extents = l.extents(node.output());
  own[axis] = l.checked_index(place, extent);
  extents[axis] = extent;
  std::vector<Guard> guards = within(l, x, own, extents);
  guards.push_back(l.not_empty(extent));
  return l.element_if(x, own, std::move(guards));
}

// y[batch, places, rest] = x[batch, indices[batch, places, 0], indices[batch, places, 1], …, rest]
Result<Id> gather_nd(Lowering& l, const Node& node, size_t, const Index& index) {
  const Value &x = *node.input(0), &indices = *node.input(1);
  const auto batch = static_cast<size_t>(node.get(attributes::GatherND::batch_dims));
  const auto depth = static_cast<size_t>(indices.type().dims.back().value);
  const auto places = static_cast<std::ptrdiff_t>(indices.type().dims.size()) - 1;
  Index own(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(batch));
  Index tuple(index.begin(), index.begin() + places), extents = l.extents(x);
  std::vector<Guard> guards;
  tuple.push_back(-1);
  for (size_t i = 0; i < batch; ++i) extents[i] = l.extent(node.output(), i);
  const std::vector<Guard> inside =
      within(l, indices, Index(index.begin(), index.begin() + places), l.extents(node.output()));
  for (size_t i = 0; i < depth; ++i) {
    tuple.back() = l.number(static_cast<int64_t>(i));
    SLUICE_ASSIGN(const Id place, l.element_if(indices, tuple, inside));
    own.push_back(l.checked_index(place, extents[batch + i]));
    guards.push_back(l.not_empty(extents[batch + i]));
  }
  own.insert(own.end(), index.begin() + places, index.end());
  const std::vector<Guard> outer = within(l, x, own, extents);
  guards.insert(guards.end(), outer.begin(), outer.end());
  return l.element_if(x, own, std::move(guards));
}

std::string gather_nd_reason(const Node& node) {
  return node.input(1)->type().dims.back().is_fixed()
             ? std::string()
             : "how many numbers an index has is known only while running";
}

// ---- TensorScatter

// The first place of an update along its axis. A place below 0, or beyond the cache, is a fault;
// circular ones start again at 0 there.
Result<Id> update_start(Lowering& l, const Node& node, ExpressionId batch, ExpressionId extent,
                        ExpressionId length) {
  const Value& starts = *node.input(2);
  const Index batches = {l.extent(*node.input(0), 0)};
  SLUICE_ASSIGN(const Id given, l.element_if(starts, {batch}, within(l, starts, {batch}, batches)));
  ExpressionTable& table = l.table();
  const bool circular = node.get(attributes::TensorScatter::mode) == "circular";
  const ExpressionId places =
      circular ? l.number(INT64_MAX) : table.add(table.subtract(extent, length), l.number(1));
  const Id is_negative = l.scalar(ScalarOp::kLess, given, l.integer(DType::kI64, 0));
  const Id outside = l.integer(DType::kI64, INT64_MAX);
  const Id checked =
      l.scalar(ScalarOp::kCheckIndex, l.scalar(ScalarOp::kSelect, is_negative, outside, given),
               l.index_value(places));
  return circular ? l.scalar(ScalarOp::kRemainder, checked, l.index_value(extent)) : checked;
}

// y[j] = 0 <= j - start < length ? update[j - start] : past[j], where j - start is modulo the
// extent for circular updates; the last of several updates of one place wins.
Result<Id> tensor_scatter(Lowering& l, const Node& node, size_t, const Index& index) {
  const Value &past = *node.input(0), &update = *node.input(1);
  const size_t axis = Lowering::axis_of(node.get(attributes::TensorScatter::axis), index.size());
  ExpressionTable& table = l.table();
  Index extents = l.extents(past), own = index;
  const ExpressionId extent = extents[axis], length = l.extent(update, axis);
  if (node.input(2) != nullptr && table.as_constant(length) != 0) {
    SLUICE_ASSIGN(const Id start, update_start(l, node, index[0], extent, length));
    own[axis] = table.subtract(index[axis], l.as_index(start, 0, table.bounds(extent).high));
    if (node.get(attributes::TensorScatter::mode) == "circular") {
      const Id distance = l.index_value(own[axis]);
      const Id is_before = l.scalar(ScalarOp::kLess, distance, l.integer(DType::kI64, 0));
      const Id wrapped = l.scalar(ScalarOp::kAdd, distance, l.index_value(extent));
      own[axis] = l.as_index(l.scalar(ScalarOp::kSelect, is_before, wrapped, distance), 0,
                             table.bounds(extent).high);
    }
  }
  const bool may_repeat = table.bounds(table.subtract(extent, length)).low < 0;
  if (may_repeat && node.get(attributes::TensorScatter::mode) == "circular") {
    const ExpressionId behind = table.subtract(table.subtract(length, l.number(1)), own[axis]);
    const ExpressionId turns = table.floor_divide(behind, table.maximum(extent, l.number(1)));
    own[axis] = table.add(own[axis], table.multiply(extent, table.maximum(turns, l.number(0))));
  }
  SLUICE_ASSIGN(const Id old, l.element(past, index));
  extents[axis] = length;
  std::vector<Guard> guards = within(l, update, own, extents);
  guards.push_back({own[axis], length});
  return l.element_if(update, own, std::move(guards), old);
}

// ---- OneHot

// An index is that of the place, or counts from the end.
Result<Id> one_hot(Lowering& l, const Node& node, size_t, const Index& index) {
  const size_t axis = Lowering::axis_of(node.get(attributes::OneHot::axis), index.size());
  Index own = index;
  own.erase(own.begin() + static_cast<std::ptrdiff_t>(axis));
  SLUICE_ASSIGN(const Id element, l.element(*node.input(0), own));
  const Id wanted = l.cast(element, DType::kI64);
  Id is_hot = l.scalar(ScalarOp::kEqual, wanted, l.index_value(index[axis]));
  const DType dtype = node.input(0)->type().dtype;
  if (dtype_is_float(dtype) || dtype_is_signed(dtype)) {
    const ExpressionId from_end = l.table().subtract(index[axis], l.extent(node.output(), axis));
    is_hot = l.scalar(ScalarOp::kOr, is_hot,
                      l.scalar(ScalarOp::kEqual, wanted, l.index_value(from_end)));
  }
  SLUICE_ASSIGN(const Id off, number_at(l, node, 2, 0));
  SLUICE_ASSIGN(const Id on, number_at(l, node, 2, 1));
  return l.scalar(ScalarOp::kSelect, is_hot, on, off);
}

std::string one_hot_reason(const Node& node) {
  return node.input(2)->type().element_count() == 2 && node.input(2)->type().dims.size() == 1
             ? std::string()
             : "the values are not two elements";
}

constexpr LoweringRow kGatherRows[] = {
    {Op::kGather, nullptr, gather},
    {Op::kGatherElements, nullptr, gather_elements},
    {Op::kGatherND, gather_nd_reason, gather_nd},
    {Op::kTensorScatter, nullptr, tensor_scatter},
    {Op::kOneHot, one_hot_reason, one_hot},
};

}  // namespace

std::span<const LoweringRow> gather_rows() { return kGatherRows; }

}  // namespace sluice::loop
