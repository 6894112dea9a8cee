// Operators whose result elements are elements of their inputs at places that are known: Slice,
// Split, Concat, Tile, Trilu, TransData; and ReverseSequence, whose lengths are read.
#include <algorithm>
#include <numeric>

#include "common/loop/lower/families.h"
#include "common/loop/lower/operands.h"
#include "common/loop/lower/reasons.h"
#include "common/ops/attributes.h"

namespace sluice::loop {
namespace {

// ---- Slice

struct SlicedAxis {
  size_t axis;
  size_t place;  // in starts
  int64_t step;
};

std::vector<SlicedAxis> sliced_axes(const Node& node) {
  const size_t rank = node.output().type().dims.size();
  const size_t count = static_cast<size_t>(node.input(1)->type().dims[0].value);
  const auto axes = Lowering::integers(node, 3), steps = Lowering::integers(node, 4);
  std::vector<SlicedAxis> sliced;
  for (size_t i = 0; i < count; ++i) {
    const int64_t axis = axes ? (*axes)[i] : static_cast<int64_t>(i);
    sliced.push_back({Lowering::axis_of(axis, rank), i, steps ? (*steps)[i] : 1});
  }
  return sliced;
}

// The first place along an axis that is read, where `start` is a constant. The slice is not empty,
// so a start from the front lies inside, but for one that goes backwards.
ExpressionId constant_start(Lowering& l, ExpressionId whole, int64_t start, int64_t step) {
  ExpressionTable& table = l.table();
  const ExpressionId last = table.subtract(whole, l.number(1));
  if (start == -1) return last;
  if (start < 0) return table.maximum(table.add(whole, l.number(start)), l.number(0));
  return step > 0 ? l.number(start) : table.minimum(l.number(start), last);
}

// The same of a start that is read: clamped so that all `count` places lie inside.
Result<ExpressionId> loaded_start(Lowering& l, const Node& node, const SlicedAxis& sliced,
                                  ExpressionId whole, ExpressionId count) {
  ExpressionTable& table = l.table();
  SLUICE_ASSIGN(const Id given, integer_at(l, node, 1, sliced.place));
  const Id zero = l.integer(DType::kI64, 0);
  const Id from_end = l.scalar(ScalarOp::kAdd, given, l.index_value(whole));
  const Id start =
      l.scalar(ScalarOp::kSelect, l.scalar(ScalarOp::kLess, given, zero), from_end, given);
  const ExpressionId span =
      table.multiply(table.subtract(count, l.number(1)), l.number(std::abs(sliced.step)));
  const ExpressionId last = table.subtract(whole, l.number(1));
  const Id low = sliced.step > 0 ? zero : l.index_value(span);
  const Id high = l.index_value(sliced.step > 0 ? table.subtract(last, span) : last);
  const Id inside = l.scalar(ScalarOp::kMax, l.scalar(ScalarOp::kMin, start, high), low);
  return l.as_index(inside, 0, table.bounds(last).high);
}

Result<Id> slice(Lowering& l, const Node& node, size_t, const Index& index) {
  const Value& x = *node.input(0);
  const auto starts = Lowering::integers(node, 1);
  Index own = index;
  for (const SlicedAxis& sliced : sliced_axes(node)) {
    const ExpressionId whole = l.extent(x, sliced.axis);
    ExpressionId start = -1;
    if (starts) {
      start = constant_start(l, whole, (*starts)[sliced.place], sliced.step);
    } else {
      SLUICE_ASSIGN(start,
                    loaded_start(l, node, sliced, whole, l.extent(node.output(), sliced.axis)));
    }
    own[sliced.axis] =
        l.table().add(start, l.table().multiply(index[sliced.axis], l.number(sliced.step)));
  }
  return l.element(x, own);
}

std::string slice_reason(const Node& node) {
  const std::vector<Dim>& starts = node.input(1)->type().dims;
  if (starts.size() != 1 || !starts[0].is_fixed())
    return "how many axes are sliced is known only while running";
  if (node.input(3) != nullptr && !Lowering::integers(node, 3))
    return "the axes are known only while running";
  if (node.input(4) != nullptr && !Lowering::integers(node, 4))
    return "the steps are known only while running";
  return {};
}

// ---- Split

Result<Id> split(Lowering& l, const Node& node, size_t result, const Index& index) {
  const size_t axis = Lowering::axis_of(node.get(attributes::Split::axis), index.size());
  Index own = index;
  for (size_t i = 0; i < result; ++i)
    own[axis] = l.table().add(own[axis], l.extent(node.output(i), axis));
  return l.element(*node.input(0), own);
}

// ---- Concat

size_t concat_axis(const Node& node) {
  return Lowering::axis_of(node.get(attributes::Concat::axis), node.output().type().dims.size());
}

// The input whose part of the result has the element: y = 0 <= i - start < extent ? x[i - start] :
// what the other inputs say. Inputs that cannot have it are left out.
Result<Id> concat(Lowering& l, const Node& node, size_t, const Index& index) {
  const size_t axis = concat_axis(node);
  ExpressionTable& table = l.table();
  const Index extents = l.extents(node.output());
  Index own = index;
  Id result = -1;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Value& x = *node.input(i);
    const ExpressionId extent = l.extent(x, axis);
    const bool before = table.bounds(own[axis]).high < 0;
    const bool behind = table.bounds(table.subtract(own[axis], extent)).low >= 0;
    if (!before && !behind) {
      SLUICE_ASSIGN(result, l.element_if(x, own, within(l, x, own, extents), result));
    }
    own[axis] = table.subtract(own[axis], extent);
  }
  return result >= 0 ? result : l.integer(register_dtype(node.output().type().dtype), 0);
}

// One nest for each input.
Result<void> concat_nests(Lowering& l, const Node& node) {
  const size_t axis = concat_axis(node);
  Index extents = l.extents(node.output());
  ExpressionId start = l.number(0);
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Value& x = *node.input(i);
    extents[axis] = l.extent(x, axis);
    const Index index = l.begin_nest(extents);
    SLUICE_ASSIGN(const Id element, l.element_if(x, index, within(l, x, index, extents)));
    Index to = index;
    to[axis] = l.table().add(start, to[axis]);
    SLUICE_TRY(l.give(node, 0, to, element));
    start = l.table().add(start, l.extent(x, axis));
  }
  return {};
}

// ---- Tile

Result<Id> tile(Lowering& l, const Node& node, size_t, const Index& index) {
  const Value& x = *node.input(0);
  Index own = index;
  for (size_t i = 0; i < index.size(); ++i) {
    const ExpressionId extent = l.extent(x, i);
    if (extent != l.extent(node.output(), i))
      own[i] = l.table().modulo(index[i], l.table().maximum(extent, l.number(1)));
  }
  return l.element(x, own);
}

// With constant repeats:
//
//   for r0 in repeats[0], i0 in x.dims[0], …: y[r0 * x.dims[0] + i0, …] = x[i0, …]
Result<void> tile_nests(Lowering& l, const Node& node) {
  const Value& x = *node.input(0);
  const auto repeats = Lowering::integers(node, 1);
  if (!repeats) return {};  // element by element
  const Index extents = l.extents(x);
  Index space;
  for (size_t i = 0; i < extents.size(); ++i) {
    space.push_back(l.number((*repeats)[i]));
    space.push_back(extents[i]);
  }
  const Index at = l.begin_nest(space);
  Index from, to;
  for (size_t i = 0; i < extents.size(); ++i) {
    from.push_back(at[2 * i + 1]);
    to.push_back(l.table().add(l.table().multiply(at[2 * i], extents[i]), at[2 * i + 1]));
  }
  SLUICE_ASSIGN(const Id element, l.element(x, from));
  return l.give(node, 0, to, element);
}

// ---- Trilu

// Keeps column - row >= k (upper), or <= k.
Result<Id> trilu(Lowering& l, const Node& node, size_t, const Index& index) {
  ExpressionTable& table = l.table();
  const bool upper = node.get(attributes::Trilu::upper) != 0;
  const ExpressionId row = index[index.size() - 2], column = index.back();
  const ExpressionId distance = upper ? table.subtract(column, row) : table.subtract(row, column);
  SLUICE_ASSIGN(const Id x, l.element(*node.input(0), index));
  const Id zero = l.integer(l.dtype_of(x), 0);
  const auto k = node.input(1) == nullptr ? std::vector<int64_t>{0} : Lowering::integers(node, 1);
  if (k && k->size() == 1) {
    constexpr int64_t kFar = int64_t{1} << 60;  // beyond all columns
    const int64_t diagonal = std::clamp((*k)[0], -kFar, kFar);
    const ExpressionId min = l.number(upper ? diagonal : -diagonal);
    return l.guarded({{table.subtract(distance, min), l.number(INT64_MAX)}}, x, zero);
  }
  SLUICE_ASSIGN(const Id diagonal, l.element(*node.input(1), l.first(*node.input(1))));
  const Id place = l.index_value(table.subtract(column, row));
  const Id kept = upper ? l.scalar(ScalarOp::kLessOrEqual, diagonal, place)
                        : l.scalar(ScalarOp::kLessOrEqual, place, diagonal);
  return l.scalar(ScalarOp::kSelect, kept, x, zero);
}

std::string trilu_reason(const Node& node) {
  if (node.output().type().dims.size() < 2) return "it has fewer than two dims";
  const bool is_one = node.input(1) == nullptr || node.input(1)->type().element_count() == 1;
  return is_one ? std::string() : "k is not one element";
}

// ---- ReverseSequence

// The element at length - 1 - time where time < length, else at time.
Result<Id> reverse_sequence(Lowering& l, const Node& node, size_t, const Index& index) {
  const Value& x = *node.input(0);
  const size_t rank = index.size();
  const size_t batch = Lowering::axis_of(node.get(attributes::ReverseSequence::batch_axis), rank);
  const size_t time = Lowering::axis_of(node.get(attributes::ReverseSequence::time_axis), rank);
  const Index lines = {l.extent(x, batch)};
  SLUICE_ASSIGN(Id length, l.element_if(*node.input(1), {index[batch]},
                                        within(l, *node.input(1), {index[batch]}, lines)));
  const ExpressionId extent = l.extent(x, time);
  const Id zero = l.integer(DType::kI64, 0), now = l.index_value(index[time]);
  length = l.scalar(ScalarOp::kMin, l.cast(length, DType::kI64), l.index_value(extent));
  const Id last = l.scalar(ScalarOp::kSub, length, l.integer(DType::kI64, 1));
  const Id mirrored = l.scalar(ScalarOp::kMax, l.scalar(ScalarOp::kSub, last, now), zero);
  const Id is_inside = l.scalar(ScalarOp::kLess, now, length);
  Index own = index;
  own[time] = l.as_index(l.scalar(ScalarOp::kSelect, is_inside, mirrored, now), 0,
                         l.table().bounds(extent).high - 1);
  return l.element(x, own);
}

std::string reverse_sequence_reason(const Node& node) {
  return node.input(1)->type().dims.size() == 1 ? std::string() : "the lengths have not one dim";
}

// ---- TransData

// The storages of the values say where the elements go.
Result<Id> trans_data(Lowering& l, const Node& node, size_t, const Index& index) {
  return l.element(*node.input(0), index);
}

constexpr LoweringRow kMovementRows[] = {
    {Op::kSlice, slice_reason, slice},
    {Op::kSplit, nullptr, split},
    {Op::kConcat, nullptr, concat, concat_nests},
    {Op::kTile, nullptr, tile, tile_nests},
    {Op::kTrilu, trilu_reason, trilu},
    {Op::kReverseSequence, reverse_sequence_reason, reverse_sequence},
    {Op::kTransData, nullptr, trans_data},
};

}  // namespace

std::span<const LoweringRow> movement_rows() { return kMovementRows; }

}  // namespace sluice::loop
