// SVMClassifier compares each pair of classes; the class that wins most pairs is the label. Without
// support vectors it is a linear function for each class.
//
//   score of i < j = rho + sum over vectors of i of coefficients[j - 1] * kernel
//                        + sum over vectors of j of coefficients[i] * kernel
//   i wins where that is above zero
//
// With prob_a and prob_b the scores are probabilities of classes, made of those of the pairs;
// without, they are those of the pairs. Of one pair there are two columns: ONNX Runtime decides
// what they are, and so do these.
#include <algorithm>
#include <numeric>

#include "stages/preprocess/onnx/ml/attributes.h"
#include "stages/preprocess/onnx/ml/linear.h"
#include "stages/preprocess/onnx/ml/operators.h"
#include "stages/preprocess/onnx/ml/svm.h"

namespace sluice {
namespace {

using SvmAttributes = ml_attributes::SVMClassifier;

constexpr int64_t kMaxVectors = 1 << 24;  // of a class

struct Classifier {
  int64_t classes = 0;
  int64_t pairs = 0;
  int64_t vectors = 0;
  std::vector<int64_t> per_class;
  std::vector<float> coefficients, rho, prob_a, prob_b;
  std::string transform;
};

Classifier read_classifier(const ExpandCall& call) {
  Classifier read{.per_class = call.get(SvmAttributes::vectors_per_class),
                  .coefficients = call.get(SvmAttributes::coefficients),
                  .rho = call.get(SvmAttributes::rho),
                  .prob_a = call.get(SvmAttributes::prob_a),
                  .prob_b = call.get(SvmAttributes::prob_b),
                  .transform = call.get(SvmAttributes::post_transform)};
  read.classes = static_cast<int64_t>(
      label_count(call, SvmAttributes::classlabels_strings, SvmAttributes::classlabels_ints));
  read.pairs = read.classes * (read.classes - 1) / 2;
  for (const int64_t count : read.per_class)
    read.vectors += std::clamp<int64_t>(count, 0, kMaxVectors);
  return read;
}

Result<void> expect_count(const ExpandCall& call, std::string_view name, size_t count,
                          int64_t minimum) {
  if (static_cast<int64_t>(count) >= minimum) return {};
  return call.bad("attribute '{}' has {} elements, expected {}", name, count, minimum);
}

Result<void> check_pairs(const ExpandCall& call, const Classifier& c) {
  if (c.classes < 2) return call.bad("it has {} classes, expected at least 2", c.classes);
  if (static_cast<int64_t>(c.per_class.size()) != c.classes)
    return call.bad("attribute 'vectors_per_class' has {} elements, expected {}",
                    c.per_class.size(), c.classes);
  const auto wrong =
      std::ranges::find_if(c.per_class, [](int64_t n) { return n < 0 || n > kMaxVectors; });
  if (wrong != c.per_class.end())
    return call.bad("attribute 'vectors_per_class' has the element {}", *wrong);
  SLUICE_TRY(
      expect_count(call, "coefficients", c.coefficients.size(), c.vectors * (c.classes - 1)));
  SLUICE_TRY(expect_count(call, "rho", c.rho.size(), c.pairs));
  if (c.prob_a.empty() && c.prob_b.empty()) return {};
  SLUICE_TRY(expect_count(call, "prob_a", c.prob_a.size(), c.pairs));
  return expect_count(call, "prob_b", c.prob_b.size(), c.pairs);
}

// Calls visit(i, j) for each pair, in the order of their scores.
template <typename F>
void for_each_pair(int64_t classes, F&& visit) {
  for (int64_t i = 0; i < classes; ++i)
    for (int64_t j = i + 1; j < classes; ++j) visit(i, j);
}

// Returns the coefficients as a matrix [vectors, pairs]: vectors of other classes have zeros.
std::vector<float> pair_matrix(const Classifier& c) {
  std::vector<int64_t> begin(c.per_class.size() + 1);
  std::partial_sum(c.per_class.begin(), c.per_class.end(), begin.begin() + 1);
  std::vector<float> matrix(static_cast<size_t>(c.vectors * c.pairs));
  int64_t pair = 0;
  const auto put = [&](int64_t of, int64_t row) {
    for (int64_t v = begin[static_cast<size_t>(of)]; v < begin[static_cast<size_t>(of) + 1]; ++v)
      matrix[static_cast<size_t>(v * c.pairs + pair)] =
          c.coefficients[static_cast<size_t>(row * c.vectors + v)];
  };
  for_each_pair(c.classes, [&](int64_t i, int64_t j) {
    put(i, j - 1);
    put(j, i);
    ++pair;
  });
  return matrix;
}

std::vector<float> first(std::vector<float> elements, int64_t count) {
  elements.resize(static_cast<size_t>(count));
  return elements;
}

Result<Value*> pair_scores(ExpandCall& call, const Classifier& c) {
  SLUICE_ASSIGN(Value * values,
                kernel_values(call, {call.get(SvmAttributes::kernel_type),
                                     call.get(SvmAttributes::kernel_params),
                                     call.get(SvmAttributes::support_vectors), c.vectors}));
  Value* matrix = call.reshape(call.floats(pair_matrix(c)), {c.vectors, c.pairs});
  return call.add(Op::kAdd,
                  {call.add(Op::kMatMul, {values, matrix}), call.floats(first(c.rho, c.pairs))});
}

// Returns how many pairs each class wins, up to what all rows have in common: [N, classes].
Value* votes(ExpandCall& call, const Classifier& c, Value* scores) {
  std::vector<float> wins(static_cast<size_t>(c.pairs * c.classes)),
      lost(static_cast<size_t>(c.classes));
  int64_t pair = 0;
  for_each_pair(c.classes, [&](int64_t i, int64_t j) {
    wins[static_cast<size_t>(pair * c.classes + i)] = 1;
    wins[static_cast<size_t>(pair * c.classes + j)] = -1;
    lost[static_cast<size_t>(j)] += 1;  // all its pairs with classes before it
    ++pair;
  });
  Value* is_first = call.cast(call.add(Op::kGreater, {scores, call.number(0)}), DType::kF32);
  Value* matrix = call.reshape(call.floats(std::move(wins)), {c.pairs, c.classes});
  return call.add(Op::kAdd,
                  {call.add(Op::kMatMul, {is_first, matrix}), call.floats(std::move(lost))});
}

Value* probabilities(ExpandCall& call, const Classifier& c, Value* scores) {
  constexpr float kLowest = 1e-7F;
  Value* exponent =
      call.add(Op::kAdd, {call.add(Op::kMul, {scores, call.floats(first(c.prob_a, c.pairs))}),
                          call.floats(first(c.prob_b, c.pairs))});
  Value* of_first = call.add(Op::kSub, {call.number(1), call.add(Op::kSigmoid, {exponent})});
  Value* inside = call.add(Op::kClip, {of_first, call.number(kLowest), call.number(1 - kLowest)});
  return call.add(Op::kPairwiseCoupling, {inside}, {{"classes", c.classes}});
}

// Returns the two columns of a single pair.
Result<Value*> both_columns(ExpandCall& call, const Classifier& c, Value* score) {
  if (c.transform == "SOFTMAX" || c.transform == "SOFTMAX_ZERO")
    return both_classes(call, score, true);
  if (c.transform != "PROBIT")
    return transformed(call, both_classes(call, score, false), c.transform);
  SLUICE_ASSIGN(Value * quantile, transformed(call, score, c.transform));
  return call.concat({quantile, call.add(Op::kMul, {score, call.number(0)})}, 1);
}

Result<void> expand_pairs(ExpandCall& call, const Classifier& c) {
  SLUICE_TRY(check_pairs(call, c));
  SLUICE_ASSIGN(Value * scores, pair_scores(call, c));
  SLUICE_ASSIGN(call.results[0],
                best_labels(call, votes(call, c, scores), SvmAttributes::classlabels_strings,
                            SvmAttributes::classlabels_ints));
  if (!call.wants(1)) return {};
  if (!c.prob_a.empty()) scores = probabilities(call, c, scores);
  SLUICE_ASSIGN(call.results[1], c.classes == 2 && c.prob_a.empty()
                                     ? both_columns(call, c, scores)
                                     : transformed(call, scores, c.transform));
  return {};
}

// Returns scores whose largest decides. Of two classes without probabilities the second one is
// chosen as soon as any score is above zero, or, of positive coefficients, at least 0.5.
Value* decisive(ExpandCall& call, const Classifier& c, Value* scores) {
  if (c.classes != 2 || !c.prob_a.empty()) return scores;
  const bool are_positive = std::ranges::all_of(c.coefficients, [](float x) { return x >= 0; });
  Value* largest = call.add(Op::kReduceMax, {scores, call.ints({-1})}, {{"keepdims", int64_t{1}}});
  Value* is_second = call.add(are_positive ? Op::kGreaterOrEqual : Op::kGreater,
                              {largest, call.number(are_positive ? 0.5F : 0.0F)});
  return call.add(Op::kWhere, {is_second, call.floats({0, 1}), scores});
}

Result<void> expand_linear(ExpandCall& call, const Classifier& c) {
  SLUICE_TRY(expect_count(call, "rho", c.rho.size(), 1));
  SLUICE_ASSIGN(Value * scores, linear_scores(call, c.coefficients, {}, c.classes));
  scores = call.add(Op::kAdd, {scores, call.number(c.rho[0])});
  SLUICE_ASSIGN(call.results[0],
                best_labels(call, decisive(call, c, scores), SvmAttributes::classlabels_strings,
                            SvmAttributes::classlabels_ints));
  if (!call.wants(1)) return {};
  const bool is_kept = c.classes == 1 && c.transform != "PROBIT";
  SLUICE_ASSIGN(call.results[1], transformed(call, scores, is_kept ? "NONE" : c.transform));
  return {};
}

}  // namespace

Result<void> expand_svm_classifier(ExpandCall& call) {
  const Classifier classifier = read_classifier(call);
  return classifier.vectors == 0 ? expand_linear(call, classifier) : expand_pairs(call, classifier);
}

}  // namespace sluice
