// Normalizations. Most have this form; the row is read again from memory, or from scratch when it
// was computed (lower/row.h):
//
//   for rows: for i: a = a + x[i]
//             mean = a / n
//             for i: b = b + (x[i] - mean)^2
//             factor = 1 / sqrt(b / n + epsilon)
//             for i: y[i] = (x[i] - mean) * factor * scale[i] + bias[i]
#include <algorithm>

#include "common/loop/lower/families.h"
#include "common/loop/lower/reasons.h"
#include "common/loop/lower/row.h"
#include "common/loop/lower/scalars.h"
#include "common/ops/attributes.h"

namespace sluice::loop {
namespace {

// The mean over a row, in a sweep without axes.
Result<Id> mean_of(Lowering& l, Row& row, DType dtype) {
  SLUICE_ASSIGN(const Id x, row.begin_sweep());
  const AccumulatorId sum = l.accumulate(Combine::kSum, l.real(dtype, 0), l.cast(x, dtype));
  l.begin_sweep({});
  return div(l, l.value_of(sum), number_of(l, dtype, row.count()));
}

// The mean of the squares of x - mean, or of x without a mean, in a sweep without axes.
Result<Id> variance_of(Lowering& l, Row& row, DType dtype, std::optional<Id> mean) {
  SLUICE_ASSIGN(Id x, row.begin_sweep());
  x = l.cast(x, dtype);
  const AccumulatorId sum =
      l.accumulate(Combine::kSum, l.real(dtype, 0), square(l, mean ? sub(l, x, *mean) : x));
  l.begin_sweep({});
  return div(l, l.value_of(sum), number_of(l, dtype, row.count()));
}

// 1 / sqrt(variance + epsilon)
Id inverse_deviation(Lowering& l, Id variance, double epsilon) {
  const Id raised = add(l, variance, l.real(l.dtype_of(variance), epsilon));
  return l.scalar(ScalarOp::kReciprocal, l.scalar(ScalarOp::kSqrt, raised));
}

// Element `index` of an input as a number of this dtype.
Result<Id> element_as(Lowering& l, const Node& node, size_t input, const Index& index,
                      DType dtype) {
  SLUICE_ASSIGN(const Id element, l.element(*node.input(input), index));
  return l.cast(element, dtype);
}

// ---- LayerNormalization, RMSNormalization

// The index of an operand that is broadcast to x; it may have leading dims of 1 beyond x's rank.
Index spread(Lowering& l, const Value& operand, const Index& index) {
  const std::vector<Dim>& dims = operand.type().dims;
  Index own(dims.size(), l.number(0));
  for (size_t back = 1; back <= std::min(dims.size(), index.size()); ++back) {
    if (dims[dims.size() - back] != Dim::fixed(1))
      own[dims.size() - back] = index[index.size() - back];
  }
  return own;
}

std::string spread_reason(const Node& node) {
  const std::vector<Dim>& x = node.input(0)->type().dims;
  for (size_t i = 1; i < node.input_count(); ++i) {
    if (node.input(i) == nullptr) continue;
    const std::vector<Dim>& own = node.input(i)->type().dims;
    for (size_t back = 1; back <= own.size(); ++back) {
      const Dim& dim = own[own.size() - back];
      if (dim == Dim::fixed(1) || (back <= x.size() && dim == x[x.size() - back])) continue;
      return fmt::format("whether input {} is broadcast along dim {} is known only while running",
                         i, own.size() - back);
    }
  }
  return {};
}

// Gives Mean and InvStdDev, results 1 and 2.
Result<void> give_statistics(Lowering& l, const Node& node, const Row& row,
                             std::initializer_list<Id> statistics) {
  size_t result = 0;
  for (const Id id : statistics) {
    if (!l.is_wanted(node, ++result)) continue;
    const DType dtype = register_dtype(node.output(result).type().dtype);
    SLUICE_TRY(l.give(node, result, row.first(), l.cast(id, dtype)));
  }
  return {};
}

Result<void> layer_normalization(Lowering& l, const Node& node) {
  const Value& x = *node.input(0);
  const bool is_centered = node.op() == Op::kLayerNormalization;
  const DType dtype = register_dtype(x.type().dtype);
  const size_t rank = x.type().dims.size();
  const size_t axis = Lowering::axis_of(node.get(attributes::LayerNormalization::axis), rank);
  Row row = Row::begin_nest(l, x, axes_from(axis, rank), is_centered ? 3 : 2);
  std::optional<Id> mean;
  if (is_centered) {
    SLUICE_ASSIGN(mean, mean_of(l, row, dtype));
  }
  SLUICE_ASSIGN(const Id variance, variance_of(l, row, dtype, mean));
  const Id factor =
      inverse_deviation(l, variance, node.get(attributes::LayerNormalization::epsilon));
  if (mean) SLUICE_TRY(give_statistics(l, node, row, {*mean, factor}));

  SLUICE_ASSIGN(Id y, row.begin_sweep());
  y = mul(l, mean ? sub(l, y, *mean) : y, factor);
  for (const size_t i : {1, 2}) {
    if (node.input(i) == nullptr) continue;
    SLUICE_ASSIGN(const Id operand,
                  element_as(l, node, i, spread(l, *node.input(i), row.index()), dtype));
    y = l.scalar(i == 1 ? ScalarOp::kMul : ScalarOp::kAdd, y, operand);
  }
  return l.give(node, 0, row.index(), y);
}

// ---- InstanceNormalization, GroupNormalization

// y = (x - mean) * (factor * scale[c]) + bias[c]
struct Channel {
  Id scale;
  Id bias;
};
Result<Channel> channel_of(Lowering& l, const Node& node, Id factor, ExpressionId c) {
  SLUICE_ASSIGN(const Id scale, element_as(l, node, 1, {c}, l.dtype_of(factor)));
  SLUICE_ASSIGN(const Id bias, element_as(l, node, 2, {c}, l.dtype_of(factor)));
  return Channel{mul(l, factor, scale), bias};
}

Id normalized(Lowering& l, Id x, Id mean, const Channel& channel) {
  return add(l, mul(l, sub(l, x, mean), channel.scale), channel.bias);
}

Result<void> instance_normalization(Lowering& l, const Node& node) {
  const Value& x = *node.input(0);
  const DType dtype = register_dtype(x.type().dtype);
  Row row = Row::begin_nest(l, x, axes_from(2, x.type().dims.size()), 3);
  SLUICE_ASSIGN(const Id mean, mean_of(l, row, dtype));
  SLUICE_ASSIGN(const Id variance, variance_of(l, row, dtype, mean));
  const Id factor =
      inverse_deviation(l, variance, node.get(attributes::InstanceNormalization::epsilon));
  SLUICE_ASSIGN(const Channel channel, channel_of(l, node, factor, row.first()[1]));
  SLUICE_ASSIGN(const Id element, row.begin_sweep());
  return l.give(node, 0, row.index(), normalized(l, element, mean, channel));
}

// Starts a nest over images and groups, whose rows are the channels of a group.
Row begin_groups(Lowering& l, const Node& node) {
  const Value& x = *node.input(0);
  const Index extents = l.extents(x);
  const ExpressionId groups = l.number(node.get(attributes::GroupNormalization::num_groups));
  const ExpressionId channels = l.table().floor_divide(extents[1], groups);
  const Index outer = l.begin_nest({extents[0], groups});
  Index first(extents.size(), l.number(0)), inner(extents.begin() + 1, extents.end());
  first[0] = outer[0];
  first[1] = l.table().multiply(outer[1], channels);
  inner[0] = channels;
  return {l, x, first, axes_from(1, extents.size()), inner, 3};
}

Result<void> group_normalization(Lowering& l, const Node& node) {
  const DType dtype = register_dtype(node.input(0)->type().dtype);
  Row row = begin_groups(l, node);
  SLUICE_ASSIGN(const Id mean, mean_of(l, row, dtype));
  SLUICE_ASSIGN(const Id variance, variance_of(l, row, dtype, mean));
  const Id factor =
      inverse_deviation(l, variance, node.get(attributes::GroupNormalization::epsilon));
  SLUICE_ASSIGN(const Id element, row.begin_sweep());
  SLUICE_ASSIGN(const Channel channel, channel_of(l, node, factor, row.index()[1]));
  return l.give(node, 0, row.index(), normalized(l, element, mean, channel));
}

// ---- BatchNormalization

// Computes (x - mean) * (scale / sqrt(variance + epsilon)) + bias.
Result<Id> batch_normalization(Lowering& l, const Node& node, size_t, const Index& index) {
  SLUICE_ASSIGN(const Id x, l.element(*node.input(0), index));
  const DType dtype = l.dtype_of(x);
  const Index c = {index.size() < 2 ? l.number(0) : index[1]};
  SLUICE_ASSIGN(const Id mean, element_as(l, node, 3, c, dtype));
  SLUICE_ASSIGN(const Id variance, element_as(l, node, 4, c, dtype));
  const Id factor =
      inverse_deviation(l, variance, node.get(attributes::BatchNormalization::epsilon));
  SLUICE_ASSIGN(const Channel channel, channel_of(l, node, factor, c[0]));
  return normalized(l, x, mean, channel);
}

std::string batch_reason(const Node& node) {
  const bool is_training = node.get(attributes::BatchNormalization::training_mode) != 0;
  return is_training || node.output_count() > 1 ? "statistics of training" : std::string();
}

// ---- LpNormalization, MeanVarianceNormalization, LRN

// A row of zeros stays zeros.
Result<void> lp_normalization(Lowering& l, const Node& node) {
  const Value& x = *node.input(0);
  const size_t axis =
      Lowering::axis_of(node.get(attributes::LpNormalization::axis), x.type().dims.size());
  const bool is_squared = node.get(attributes::LpNormalization::p) == 2;
  Row row = Row::begin_nest(l, x, {axis}, 2);
  SLUICE_ASSIGN(const Id element, row.begin_sweep());
  const Id zero = l.real(l.dtype_of(element), 0);
  const Id term = is_squared ? square(l, element) : l.scalar(ScalarOp::kAbs, element);
  const AccumulatorId sum = l.accumulate(Combine::kSum, zero, term);
  l.begin_sweep({});
  const Id found = l.value_of(sum);
  const Id norm = is_squared ? l.scalar(ScalarOp::kSqrt, found) : found;
  const Id divisor = select(l, l.scalar(ScalarOp::kEqual, norm, l.real(l.dtype_of(norm), 0)),
                            l.real(l.dtype_of(norm), 1), norm);
  SLUICE_ASSIGN(const Id again, row.begin_sweep());
  return l.give(node, 0, row.index(), div(l, again, divisor));
}

std::vector<size_t> mean_variance_axes(const Node& node) {
  std::vector<int64_t> named = node.get(attributes::MeanVarianceNormalization::axes);
  if (named.empty()) named = {0, 2, 3};
  std::vector<bool> reduced(node.input(0)->type().dims.size(), false);
  for (const int64_t axis : named) reduced[Lowering::axis_of(axis, reduced.size())] = true;
  std::vector<size_t> axes;
  for (size_t i = 0; i < reduced.size(); ++i)
    if (reduced[i]) axes.push_back(i);
  return axes;
}

// Computes (x - mean) / (sqrt(variance) + 1e-9). The divisor is so small where all elements are
// equal that their mean must be exact to many digits: in f64.
Result<void> mean_variance(Lowering& l, const Node& node) {
  constexpr DType kWide = DType::kF64;
  Row row = Row::begin_nest(l, *node.input(0), mean_variance_axes(node), 3);
  SLUICE_ASSIGN(const Id mean, mean_of(l, row, kWide));
  SLUICE_ASSIGN(const Id variance, variance_of(l, row, kWide, mean));
  const Id divisor = add(l, l.scalar(ScalarOp::kSqrt, variance), l.real(kWide, 1e-9));
  SLUICE_ASSIGN(const Id x, row.begin_sweep());
  const Id y = div(l, sub(l, l.cast(x, kWide), mean), divisor);
  return l.give(node, 0, row.index(), l.cast(y, l.dtype_of(x)));
}

// Computes x / (bias + alpha / size * the sum of squares over the `size` channels around)^beta.
Result<void> local_response(Lowering& l, const Node& node) {
  const Value& x = *node.input(0);
  const int64_t size = node.get(attributes::LRN::size);
  const Index extents = l.extents(x);
  const Index index = l.begin_nest(extents);
  Index around = index;
  around[1] = l.table().add(index[1], l.begin_sweep({l.number(size)})[0]);
  around[1] = l.table().subtract(around[1], l.number((size - 1) / 2));
  const DType dtype = register_dtype(x.type().dtype);
  const Id zero = l.real(dtype, 0);
  SLUICE_ASSIGN(const Id near, l.element_if(x, around, {{around[1], extents[1]}}, zero));
  const AccumulatorId sum = l.accumulate(Combine::kSum, zero, square(l, near));
  l.begin_sweep({});
  const double alpha = node.get(attributes::LRN::alpha);
  const Id scaled = mul(l, l.value_of(sum), l.real(dtype, alpha / static_cast<double>(size)));
  const Id base = add(l, l.real(dtype, node.get(attributes::LRN::bias)), scaled);
  const Id power = l.scalar(ScalarOp::kPow, base, l.real(dtype, node.get(attributes::LRN::beta)));
  SLUICE_ASSIGN(const Id element, l.element(x, index));
  return l.give(node, 0, index, div(l, element, power));
}

constexpr LoweringRow kNormalizationRows[] = {
    {Op::kLayerNormalization, spread_reason, nullptr, layer_normalization},
    {Op::kRMSNormalization, spread_reason, nullptr, layer_normalization},
    {Op::kInstanceNormalization, nullptr, nullptr, instance_normalization},
    {Op::kGroupNormalization, nullptr, nullptr, group_normalization},
    {Op::kBatchNormalization, batch_reason, batch_normalization},
    {Op::kLpNormalization, nullptr, nullptr, lp_normalization},
    {Op::kMeanVarianceNormalization, nullptr, nullptr, mean_variance},
    {Op::kLRN, nullptr, nullptr, local_response},
};

}  // namespace

std::span<const LoweringRow> normalization_rows() { return kNormalizationRows; }

}  // namespace sluice::loop
