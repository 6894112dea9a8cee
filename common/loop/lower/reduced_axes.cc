#include "common/loop/lower/reduced_axes.h"

#include <algorithm>
#include <bit>

#include "common/loop/lower/operands.h"
#include "common/loop/lower/scalars.h"
#include "common/ops/attributes.h"

namespace sluice::loop {
namespace {

constexpr size_t kMaxSearchedRank = 10;

bool keeps_dims(const Node& node) {
  return node.output().type().dims.size() == node.input(0)->type().dims.size();
}

// ---- axes that are known

bool may_equal(const Module& module, const Dim& a, const Dim& b) {
  const auto range = [&](const Dim& dim) {
    return dim.is_fixed() ? Interval{dim.value, dim.value}
                          : module.expressions.bounds(static_cast<ExpressionId>(dim.value));
  };
  return a == b || (range(a).low <= range(b).high && range(b).low <= range(a).high);
}

// Returns the axes where dims of the result are either the input's, or 1 for a reduced one. An axis
// of one element may count as reduced or not.
std::optional<std::vector<bool>> axes_of_kept_dims(const Node& node) {
  const std::vector<Dim>&x = node.input(0)->type().dims, &y = node.output().type().dims;
  std::vector<bool> reduced;
  for (size_t i = 0; i < x.size(); ++i) {
    if (y[i] != x[i] && y[i] != Dim::fixed(1)) return std::nullopt;
    reduced.push_back(y[i] != x[i]);
  }
  return reduced;
}

// Returns the axes when the other dims can be those of the result for no others.
std::optional<std::vector<bool>> axes_of_dropped_dims(const Node& node) {
  const std::vector<Dim>&x = node.input(0)->type().dims, &y = node.output().type().dims;
  if (x.size() > kMaxSearchedRank) return std::nullopt;
  std::optional<std::vector<bool>> found;
  for (uint32_t kept = 0; kept < uint32_t{1} << x.size(); ++kept) {
    if (static_cast<size_t>(std::popcount(kept)) != y.size()) continue;
    std::vector<bool> reduced;
    bool is_possible = true, is_sure = true;
    size_t k = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      reduced.push_back((kept >> i & 1) == 0);
      if (reduced.back()) continue;
      is_possible = is_possible && may_equal(node.graph().module(), x[i], y[k]);
      is_sure = is_sure && x[i] == y[k++];
    }
    if (!is_possible) continue;
    if (found || !is_sure) return std::nullopt;
    found = std::move(reduced);
  }
  return found;
}

// ---- axes that are read

struct ReadAxis {
  Id reduced;   // bool
  Id position;  // i64: of a kept axis, its place among the axes of the result
};

Id number(Lowering& l, int64_t value) { return l.integer(DType::kI64, value); }

Result<std::vector<ReadAxis>> read_axes(Lowering& l, const Node& node) {
  const auto rank = static_cast<int64_t>(node.input(0)->type().dims.size());
  std::vector<Id> named;
  for (int64_t i = 0; i < node.input(1)->type().dims[0].value; ++i) {
    SLUICE_ASSIGN(const Id axis, integer_at(l, node, 1, static_cast<size_t>(i)));
    named.push_back(l.scalar(ScalarOp::kCheckIndex, axis, number(l, rank)));
  }
  std::vector<ReadAxis> axes;
  Id kept = number(l, 0);  // so far
  for (int64_t i = 0; i < rank; ++i) {
    Id reduced = l.integer(DType::kBool, 0);
    for (const Id axis : named)
      reduced = l.scalar(ScalarOp::kOr, reduced, l.scalar(ScalarOp::kEqual, axis, number(l, i)));
    axes.push_back({reduced, keeps_dims(node) ? number(l, i) : kept});
    kept = add(l, kept, l.cast(l.scalar(ScalarOp::kNot, reduced), DType::kI64));
  }
  return axes;
}

// values[position], or 0 when there is none.
Id pick(Lowering& l, const std::vector<Id>& values, Id position) {
  Id found = number(l, 0);
  for (size_t i = 0; i < values.size(); ++i) {
    const Id is_here = l.scalar(ScalarOp::kEqual, position, number(l, static_cast<int64_t>(i)));
    found = select(l, is_here, values[i], found);
  }
  return found;
}

std::vector<Id> values_of(Lowering& l, const Index& index) {
  std::vector<Id> values;
  for (const ExpressionId id : index) values.push_back(l.index_value(id));
  return values;
}

// Sets the fault of the launch when the dims that the axes leave are not those of the result.
Result<void> check_axes(Lowering& l, const Node& node) {
  l.begin_nest({});
  SLUICE_ASSIGN(const std::vector<ReadAxis> axes, read_axes(l, node));
  const std::vector<Id> from = values_of(l, l.extents(*node.input(0)));
  const std::vector<Id> to = values_of(l, l.extents(node.output()));
  const bool keep = keeps_dims(node);
  Id differs = l.integer(DType::kBool, 0), kept = number(l, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const Id own = pick(l, to, axes[i].position);
    const Id expected = select(l, axes[i].reduced, keep ? number(l, 1) : own, from[i]);
    const Id is_same = l.scalar(ScalarOp::kEqual, own, expected);
    differs = l.scalar(ScalarOp::kOr, differs, l.scalar(ScalarOp::kNot, is_same));
    kept = add(l, kept, l.cast(l.scalar(ScalarOp::kNot, axes[i].reduced), DType::kI64));
  }
  if (!keep) {
    const Id is_all = l.scalar(ScalarOp::kEqual, kept, number(l, static_cast<int64_t>(to.size())));
    differs = l.scalar(ScalarOp::kOr, differs, l.scalar(ScalarOp::kNot, is_all));
  }
  l.scalar(ScalarOp::kCheckIndex, l.cast(differs, DType::kI64), number(l, 1));
  return {};
}

}  // namespace

std::optional<std::vector<bool>> reduced_axes(const Node& node) {
  const size_t rank = node.input(0)->type().dims.size();
  if (node.op() == Op::kArgMax || node.op() == Op::kArgMin) {
    std::vector<bool> reduced(rank, false);
    reduced[Lowering::axis_of(node.get(attributes::ArgMax::axis), rank)] = true;
    return reduced;
  }
  const bool noop = node.get(attributes::Reduce::noop_with_empty_axes) != 0;
  const Value* operand = node.input(1);
  if (operand == nullptr || operand->type().dims[0] == Dim::fixed(0))
    return std::vector<bool>(rank, !noop);
  const auto axes = Lowering::integers(node, 1);
  if (!axes) return std::nullopt;
  std::vector<bool> reduced(rank, false);
  for (const int64_t axis : *axes) reduced[Lowering::axis_of(axis, rank)] = true;
  return reduced;
}

std::string axes_reason(const Node& node) {
  if (reduced_axes(node) || node.input(1)->type().dims[0].is_fixed()) return {};
  return "the number of axes is known only while running";
}

Result<ReducedRow> ReducedRow::begin_nest(Lowering& l, const Node& node, int sweeps) {
  ReducedRow row(l, node);
  auto reduced = reduced_axes(node);
  if (!reduced) {
    SLUICE_TRY(check_axes(l, node));
    reduced = keeps_dims(node) ? axes_of_kept_dims(node) : axes_of_dropped_dims(node);
  }
  if (reduced) {
    row.begin_known(node, *reduced, sweeps);
  } else {
    SLUICE_TRY(row.begin_open(node));
  }
  return row;
}

void ReducedRow::begin_known(const Node& node, const std::vector<bool>& reduced, int sweeps) {
  std::vector<size_t> axes;
  for (size_t i = 0; i < reduced.size(); ++i)
    if (reduced[i]) axes.push_back(i);
  row_.emplace(Row::begin_nest(l_, x_, std::move(axes), sweeps));
  for (size_t i = 0; i < reduced.size(); ++i)
    if (!reduced[i] || keeps_dims(node)) kept_.push_back(row_->first()[i]);
  count_ = row_->count();
}

// A place that lies outside of the input, where the shapes differ, is clamped.
Result<void> ReducedRow::begin_open(const Node& node) {
  ExpressionTable& table = l_.table();
  const Index from = l_.extents(x_), to = l_.extents(node.output());
  count_ = table.floor_divide(l_.product(from), table.maximum(l_.product(to), l_.number(1)));
  kept_ = l_.begin_nest(to);
  SLUICE_ASSIGN(const std::vector<ReadAxis> axes, read_axes(l_, node));
  const std::vector<Id> places = values_of(l_, kept_), extents = values_of(l_, from);
  const Id zero = number(l_, 0), one = number(l_, 1);
  axes_.resize(axes.size());
  Id after = one;
  for (size_t i = axes.size(); i-- > 0;) {
    const auto [reduced, position] = axes[i];
    const Id place = select(l_, reduced, zero, pick(l_, places, position));
    const Id limit = select(l_, reduced, one, extents[i]);
    axes_[i] = {l_.scalar(ScalarOp::kCheckIndex, place, limit), reduced, after};
    const Id own = select(l_, reduced, l_.scalar(ScalarOp::kMax, extents[i], one), one);
    after = mul(l_, after, own);
  }
  return {};
}

Result<Id> ReducedRow::begin_sweep() {
  if (row_) return row_->begin_sweep();
  ExpressionTable& table = l_.table();
  const Id counted = l_.index_value(l_.begin_sweep({count_})[0]);
  Index index;
  for (size_t i = 0; i < axes_.size(); ++i) {
    const ExpressionId extent = l_.extent(x_, i);
    const Id limit = l_.index_value(table.maximum(extent, l_.number(1)));
    const Id digit =
        l_.scalar(ScalarOp::kRemainder, l_.scalar(ScalarOp::kDiv, counted, axes_[i].after), limit);
    const int64_t high = table.bounds(extent).high;
    index.push_back(l_.as_index(select(l_, axes_[i].reduced, digit, axes_[i].kept), 0,
                                high == INT64_MAX ? high : std::max<int64_t>(high - 1, 0)));
  }
  return l_.element(x_, index);
}

}  // namespace sluice::loop
