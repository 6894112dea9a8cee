// Losses of classifiers: scores [N, C, …] against labels [N, …].
//
//   for n…: loss = -p[n, label[n…], …] * weight[label[n…]]
//
// where p are the scores, or their LogSoftmax over C. A label that is ignored has loss and weight
// 0; one that is no class is a fault.
#include "common/loop/lower/families.h"
#include "common/loop/lower/row.h"
#include "common/loop/lower/scalars.h"
#include "common/ops/attributes.h"

namespace sluice::loop {
namespace {

// A row of scores: an index of labels with an entry for the class.
Index scores_at(const Index& index, ExpressionId c) {
  Index scores = index;
  scores.insert(scores.begin() + 1, c);
  return scores;
}

// A label, as the index of its class, and whether it is ignored (-1: none is).
struct Label {
  ExpressionId c;
  Id is_ignored;
};

Result<Label> label_at(Lowering& l, const Node& node, const Index& index) {
  SLUICE_ASSIGN(Id label, l.element(*node.input(1), index));
  label = l.cast(label, DType::kI64);
  const ExpressionId classes = l.extent(*node.input(0), 1);
  const Id zero = l.integer(DType::kI64, 0);
  // A label does not count from the end: a negative one is out of range.
  Id place = select(l, l.scalar(ScalarOp::kLess, label, zero), l.index_value(classes), label);
  Id is_ignored = -1;
  if (node.has(attributes::Loss::ignore_index)) {
    const Id ignored = l.integer(DType::kI64, node.get(attributes::Loss::ignore_index));
    is_ignored = l.scalar(ScalarOp::kEqual, label, ignored);
    place = select(l, is_ignored, zero, place);
  }
  return Label{l.checked_index(place, classes), is_ignored};
}

// The loss of one label, and its weight.
struct Loss {
  Id loss;
  Id weight;
};

// `score` is minus the loss without a weight.
Result<Loss> weighted(Lowering& l, const Node& node, const Label& label, Id score) {
  const DType dtype = l.dtype_of(score);
  const Id zero = l.real(dtype, 0);
  Loss result{l.scalar(ScalarOp::kNeg, score), l.real(dtype, 1)};
  if (node.input(2) != nullptr) {
    const Guard has_classes = l.not_empty(l.extent(*node.input(2), 0));
    SLUICE_ASSIGN(result.weight, l.element_if(*node.input(2), {label.c}, {has_classes}));
    result.loss = mul(l, result.loss, result.weight);
  }
  if (label.is_ignored < 0) return result;
  return Loss{select(l, label.is_ignored, zero, result.loss),
              select(l, label.is_ignored, zero, result.weight)};
}

Result<Loss> likelihood_at(Lowering& l, const Node& node, const Index& index) {
  const Value& x = *node.input(0);
  SLUICE_ASSIGN(const Label label, label_at(l, node, index));
  SLUICE_ASSIGN(const Id score,
                l.element_if(x, scores_at(index, label.c), {l.not_empty(l.extent(x, 1))}));
  return weighted(l, node, label, score);
}

Result<void> negative_log_likelihood(Lowering& l, const Node& node) {
  const Index extents = l.extents(*node.input(1));
  const std::string reduction = node.get(attributes::Loss::reduction);
  if (reduction == "none") {
    const Index index = l.begin_nest(extents);
    SLUICE_ASSIGN(const Loss each, likelihood_at(l, node, index));
    return l.give(node, 0, index, each.loss);
  }
  l.begin_nest({});
  SLUICE_ASSIGN(const Loss each, likelihood_at(l, node, l.begin_sweep(extents)));
  const Id zero = l.real(l.dtype_of(each.loss), 0);
  const AccumulatorId sum = l.accumulate(Combine::kSum, zero, each.loss);
  const AccumulatorId weights = l.accumulate(Combine::kSum, zero, each.weight);
  l.begin_sweep({});
  const Id total = l.value_of(sum);
  return l.give(node, 0, {}, reduction == "sum" ? total : div(l, total, l.value_of(weights)));
}

// log(sum(exp(x))) over a row, in two parts.
struct Normalizer {
  Id largest;
  Id log_sum;
};

Result<Normalizer> normalizer_of(Lowering& l, Row& row) {
  SLUICE_ASSIGN(const Id x, row.begin_sweep());
  const AccumulatorId largest = l.accumulate(Combine::kMax, lowest(l, l.dtype_of(x)), x);
  l.begin_sweep({});
  const Id top = l.value_of(largest);
  SLUICE_ASSIGN(const Id again, row.begin_sweep());
  const AccumulatorId sum = l.accumulate(Combine::kSum, l.real(l.dtype_of(x), 0),
                                         l.scalar(ScalarOp::kExp, sub(l, again, top)));
  l.begin_sweep({});
  return Normalizer{top, l.scalar(ScalarOp::kLog, l.value_of(sum))};
}

// One loss per row of scores.
Result<void> softmax_cross_entropy(Lowering& l, const Node& node) {
  const Value& x = *node.input(0);
  Row row = Row::begin_nest(l, x, {1}, 4);
  Index index = row.first();
  index.erase(index.begin() + 1);
  SLUICE_ASSIGN(const Normalizer normalizer, normalizer_of(l, row));
  const auto logarithm = [&](Id score) {
    return sub(l, sub(l, score, normalizer.largest), normalizer.log_sum);
  };
  SLUICE_ASSIGN(const Label label, label_at(l, node, index));
  SLUICE_ASSIGN(const Id score,
                l.element_if(x, scores_at(index, label.c), {l.not_empty(row.extents()[0])}));
  SLUICE_ASSIGN(const Loss loss, weighted(l, node, label, logarithm(score)));
  SLUICE_TRY(l.give(node, 0, index, loss.loss));
  if (!l.is_wanted(node, 1)) return {};
  SLUICE_ASSIGN(const Id element, row.begin_sweep());
  return l.give(node, 1, row.index(), logarithm(element));
}

std::string cross_entropy_reason(const Node& node) {
  return node.get(attributes::Loss::reduction) == "none"
             ? std::string()
             : "the sum over all rows needs the losses of rows first";
}

constexpr LoweringRow kLossRows[] = {
    {Op::kNegativeLogLikelihoodLoss, nullptr, nullptr, negative_log_likelihood},
    {Op::kSoftmaxCrossEntropyLoss, cross_entropy_reason, nullptr, softmax_cross_entropy},
};

}  // namespace

std::span<const LoweringRow> loss_rows() { return kLossRows; }

}  // namespace sluice::loop
