// Operators that write elements at places that an input names into a copy of their first input, or
// into zeros. Updates of one place are made in order, so axes along which places can be equal are
// inner ones:
//
//   for axes that keep places apart:
//     for j: y[j] = x[j]
//     for i: y[indices[i]] = updates[i], or y[indices[i]] + updates[i], …
#include <algorithm>

#include "common/loop/lower/families.h"
#include "common/loop/lower/operands.h"
#include "common/loop/lower/reasons.h"
#include "common/ops/attributes.h"

namespace sluice::loop {
namespace {

// ---- rows: the elements of one outer point

enum class Update : uint8_t { kReplace, kAdd, kMul, kMax, kMin };

Update update_of(const Node& node) {
  const std::string name =
      node.op() == Op::kScatter ? "none" : node.get(attributes::ScatterND::reduction);
  if (name == "add") return Update::kAdd;
  if (name == "mul") return Update::kMul;
  if (name == "max") return Update::kMax;
  return name == "min" ? Update::kMin : Update::kReplace;
}

// Where the elements are while they are updated: in the result, or, where its memory does not hold
// them as they are, in scratch.
struct Rows {
  const Node& node;
  Update update;
  std::optional<BufferId> local;  // by the inner axes
};

// An element by its index in the result and in its row.
struct RowPlace {
  Index index;
  Index inner;
};

Result<Rows> begin_rows(Lowering& l, const Node& node, const Index& inner) {
  Rows rows{node, update_of(node), std::nullopt};
  if (rows.update == Update::kReplace || l.can_reread(node, 0)) return rows;
  rows.local = l.local_buffer(register_dtype(node.output().type().dtype), inner);
  if (rows.local) return rows;
  return make_error(ErrorCode::kNotLowerable, "{}: rows that are updated are too long for scratch",
                    node.label());
}

Result<void> put(Lowering& l, const Rows& rows, const RowPlace& place, Id value,
                 std::vector<Guard> guards = {}) {
  if (!rows.local) return l.give(rows.node, 0, place.index, value, std::move(guards));
  l.store_local(*rows.local, place.inner, value, std::move(guards));
  return {};
}

// Combines an element with an update; a NaN is neither larger nor smaller.
Id combined(Lowering& l, Update how, Id old, Id update) {
  if (how == Update::kAdd) return l.scalar(ScalarOp::kAdd, old, update);
  if (how == Update::kMul) return l.scalar(ScalarOp::kMul, old, update);
  const bool is_max = how == Update::kMax;
  const Id replaces = l.scalar(ScalarOp::kLess, is_max ? old : update, is_max ? update : old);
  return l.scalar(ScalarOp::kSelect, replaces, update, old);
}

Result<void> update(Lowering& l, const Rows& rows, const RowPlace& place, Id value,
                    const std::vector<Guard>& guards) {
  if (rows.update != Update::kReplace) {
    const Id old = rows.local ? l.load_local(*rows.local, place.inner)
                              : l.reread(rows.node, 0, place.index, guards);
    value = combined(l, rows.update, old, value);
  }
  return put(l, rows, place, value, guards);
}

Result<void> copy_element(Lowering& l, const Rows& rows, const RowPlace& place) {
  SLUICE_ASSIGN(const Id x, l.element(*rows.node.input(0), place.index));
  return put(l, rows, place, x);
}

// Gives an element of a row that is complete.
Result<void> finish_element(Lowering& l, const Rows& rows, const RowPlace& place) {
  return l.give(rows.node, 0, place.index, l.load_local(*rows.local, place.inner));
}

// ---- ScatterElements, Scatter

size_t scatter_axis(const Node& node) {
  return Lowering::axis_of(node.get(attributes::ScatterElements::axis),
                           node.output().type().dims.size());
}

RowPlace element_place(const Index& line, size_t axis, ExpressionId at) {
  RowPlace place{line, {at}};
  place.index[axis] = at;
  return place;
}

// The axis of the places is the inner one: y[i, indices[i, k]] = updates[i, k].
Result<void> scatter_elements(Lowering& l, const Node& node) {
  const Value &indices = *node.input(1), &updates = *node.input(2);
  const size_t axis = scatter_axis(node);
  Index extents = l.extents(*node.input(0));
  const ExpressionId length = extents[axis];
  SLUICE_ASSIGN(const Rows rows, begin_rows(l, node, {length}));
  extents[axis] = l.number(1);
  const Index line = l.begin_nest(extents);
  SLUICE_TRY(copy_element(l, rows, element_place(line, axis, l.begin_sweep({length})[0])));

  extents[axis] = l.extent(indices, axis);
  Index from = line;
  from[axis] = l.begin_sweep({extents[axis]})[0];
  std::vector<Guard> guards = within(l, indices, from, extents);
  SLUICE_ASSIGN(const Id place, l.element_if(indices, from, guards));
  for (const Guard& guard : within(l, updates, from, extents)) guards.push_back(guard);
  SLUICE_ASSIGN(const Id value, l.element_if(updates, from, guards));
  guards.push_back(l.not_empty(length));
  SLUICE_TRY(
      update(l, rows, element_place(line, axis, l.checked_index(place, length)), value, guards));
  if (!rows.local) return {};
  return finish_element(l, rows, element_place(line, axis, l.begin_sweep({length})[0]));
}

// ---- ScatterND

size_t tuple_size(const Node& node) {
  return static_cast<size_t>(node.input(1)->type().dims.back().value);
}

RowPlace slice_place(const Index& inner, const Index& slice) {
  RowPlace place{inner, inner};
  place.index.insert(place.index.end(), slice.begin(), slice.end());
  return place;
}

// The axes of the slices keep places apart:
//
//   y[indices[t, 0], indices[t, 1], …, slice] = updates[t, slice]
Result<void> scatter_nd(Lowering& l, const Node& node) {
  const Value &indices = *node.input(1), &updates = *node.input(2);
  const Index extents = l.extents(*node.input(0));
  const auto depth = static_cast<std::ptrdiff_t>(tuple_size(node));
  const Index whole(extents.begin(), extents.begin() + depth);
  const Index slices(extents.begin() + depth, extents.end());
  SLUICE_ASSIGN(const Rows rows, begin_rows(l, node, whole));
  const Index slice = l.begin_nest(slices);
  SLUICE_TRY(copy_element(l, rows, slice_place(l.begin_sweep(whole), slice)));

  Index tuples = l.extents(indices);
  tuples.pop_back();
  Index from = l.begin_sweep(tuples), inner;
  const Index updated = slice_place(from, slice).index;
  std::vector<Guard> guards = within(l, updates, updated, slice_place(tuples, slices).index);
  SLUICE_ASSIGN(const Id value, l.element_if(updates, updated, guards));
  from.push_back(-1);
  for (size_t i = 0; i < whole.size(); ++i) {
    from.back() = l.number(static_cast<int64_t>(i));
    SLUICE_ASSIGN(const Id place, l.element(indices, from));
    inner.push_back(l.checked_index(place, whole[i]));
    guards.push_back(l.not_empty(whole[i]));
  }
  SLUICE_TRY(update(l, rows, slice_place(inner, slice), value, guards));
  if (!rows.local) return {};
  return finish_element(l, rows, slice_place(l.begin_sweep(whole), slice));
}

// ---- reasons

// Rows that are kept in scratch must fit: those of 16-bit floats, which are combined in f32, and
// those that are read again in a Fused body. `first` and `last` are their axes.
std::string rows_reason(const Node& node, size_t first, size_t last) {
  const Value& y = node.output();
  const DType dtype = y.type().dtype;
  if (update_of(node) == Update::kReplace) return {};
  const bool in_memory = node.graph().owner() == nullptr || y.is_output();
  if (in_memory && register_dtype(dtype) == dtype) return needs_numbers(node);
  int64_t bytes = dtype_bits(register_dtype(dtype)) / 8;
  for (size_t axis = first; axis < last; ++axis) {
    const Dim& dim = y.type().dims[axis];
    if (!dim.is_fixed()) return "a row that is updated in scratch has no fixed size";
    if (__builtin_mul_overflow(bytes, dim.value, &bytes)) bytes = INT64_MAX;
  }
  if (bytes == 0) return "a row that is updated in scratch is empty";
  if (bytes > kMaxLocalBytes) return "a row that is updated is too long for scratch";
  return needs_numbers(node);
}

std::string scatter_elements_reason(const Node& node) {
  const size_t axis = scatter_axis(node);
  return rows_reason(node, axis, axis + 1);
}

std::string scatter_nd_reason(const Node& node) {
  if (!node.input(1)->type().dims.back().is_fixed())
    return "how many numbers an index has is known only while running";
  return rows_reason(node, 0, tuple_size(node));
}

// ---- MaxUnpool

// The extents that the indices refer to: those that the pooling had.
Index pooled_extents(Lowering& l, const Node& node) {
  const Value& x = *node.input(0);
  const auto kernel = node.get(attributes::MaxUnpool::kernel_shape);
  const auto strides = node.get(attributes::Strided::strides, kernel.size());
  const auto pads = node.get(attributes::Strided::pads, 2 * kernel.size());
  Index extents = {l.extent(x, 0), l.extent(x, 1)};
  ExpressionTable& table = l.table();
  for (size_t i = 0; i < kernel.size(); ++i) {
    const ExpressionId steps = table.subtract(l.extent(x, i + 2), l.number(1));
    const int64_t first = kernel[i] - pads[i] - pads[kernel.size() + i];
    extents.push_back(table.add(table.multiply(steps, l.number(strides[i])), l.number(first)));
  }
  return extents;
}

// An index is a place in row-major order; any two may be equal, so all axes are inner ones.
Result<void> max_unpool(Lowering& l, const Node& node) {
  const Value& x = *node.input(0);
  const Index pooled = pooled_extents(l, node), extents = l.extents(node.output());
  l.begin_nest({});
  Index place = l.begin_sweep(extents);
  SLUICE_TRY(l.give(node, 0, place, l.integer(register_dtype(x.type().dtype), 0)));
  const Index from = l.begin_sweep(l.extents(x));
  SLUICE_ASSIGN(const Id value, l.element(x, from));
  SLUICE_ASSIGN(const Id index, l.element(*node.input(1), from));
  const Id is_negative = l.scalar(ScalarOp::kLess, index, l.integer(DType::kI64, 0));
  const Id given =
      l.scalar(ScalarOp::kSelect, is_negative, l.integer(DType::kI64, INT64_MAX), index);
  place = l.unflatten(l.checked_index(given, l.product(pooled)), pooled);
  std::vector<Guard> guards;
  for (size_t i = 0; i < place.size(); ++i) {
    guards.push_back(l.not_empty(extents[i]));
    if (pooled[i] != extents[i]) place[i] = l.checked_index(l.index_value(place[i]), extents[i]);
  }
  return l.give(node, 0, place, value, std::move(guards));
}

std::string max_unpool_reason(const Node& node) {
  const std::vector<Dim>&x = node.input(0)->type().dims, &indices = node.input(1)->type().dims;
  if (x != indices) return "whether the indices fit is known only while running";
  const bool fixed = std::ranges::all_of(x, [](const Dim& dim) { return dim.is_fixed(); });
  return fixed ? needs_floats(node) : "a size is a symbol";
}

constexpr LoweringRow kScatterRows[] = {
    {Op::kScatter, scatter_elements_reason, nullptr, scatter_elements},
    {Op::kScatterElements, scatter_elements_reason, nullptr, scatter_elements},
    {Op::kScatterND, scatter_nd_reason, nullptr, scatter_nd},
    {Op::kMaxUnpool, max_unpool_reason, nullptr, max_unpool},
};

}  // namespace

std::span<const LoweringRow> scatter_rows() { return kScatterRows; }

}  // namespace sluice::loop
