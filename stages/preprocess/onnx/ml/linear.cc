#include "stages/preprocess/onnx/ml/linear.h"

namespace sluice {
namespace {

Value* reduced(ExpandCall& call, Op op, Value* scores) {
  return call.add(op, {scores, call.ints({-1})}, {{"keepdims", int64_t{1}}});
}

// Computes a softmax in which scores near zero do not take part: they keep their values, except for
// the scale.
Value* softmax_but_zeros(ExpandCall& call, Value* scores) {
  Value* maximum = reduced(call, Op::kReduceMax, scores);
  Value* counts =
      call.add(Op::kGreater, {call.add(Op::kAbs, {scores}), call.number(1e-7f, scores)});
  Value* powers = call.add(Op::kExp, {call.add(Op::kSub, {scores, maximum})});
  Value* sum =
      reduced(call, Op::kReduceSum, call.add(Op::kWhere, {counts, powers, call.number(0, scores)}));
  Value* remainder =
      call.add(Op::kMul, {scores, call.add(Op::kExp, {call.add(Op::kNeg, {maximum})})});
  return call.add(Op::kDiv, {call.add(Op::kWhere, {counts, powers, remainder}), sum});
}

// Computes the quantile of the normal distribution, sqrt(2) erfinv(2 p - 1), with Winitzki's
// approximation of erfinv, which ONNX Runtime uses too.
Value* probit(ExpandCall& call, Value* scores) {
  constexpr float kA = 0.147f, kPi = 3.14159265f;
  const auto number = [&](float n) { return call.number(n, scores); };
  const auto add = [&](Op op, Value* a, Value* b) { return call.add(op, {a, b}); };
  Value* x = add(Op::kSub, add(Op::kMul, scores, number(2)), number(1));
  Value* log =
      call.add(Op::kLog, {add(Op::kMul, add(Op::kSub, number(1), x), add(Op::kAdd, number(1), x))});
  Value* v = add(Op::kAdd, add(Op::kMul, log, number(0.5f)), number(2 / (kPi * kA)));
  Value* root =
      call.add(Op::kSqrt, {add(Op::kSub, add(Op::kMul, v, v), add(Op::kMul, log, number(1 / kA)))});
  Value* size = call.add(Op::kSqrt, {add(Op::kSub, root, v)});
  return add(Op::kMul, add(Op::kMul, call.add(Op::kSign, {x}), size), number(1.41421356f));
}

}  // namespace

Result<Value*> linear_scores(ExpandCall& call, const std::vector<float>& coefficients,
                             const std::vector<float>& intercepts, int64_t rows) {
  const auto count = static_cast<int64_t>(coefficients.size());
  if (rows < 1 || count % rows != 0 || count == 0)
    return call.bad("{} coefficients do not make {} rows", count, rows);
  if (!intercepts.empty() && static_cast<int64_t>(intercepts.size()) != rows) {
    return call.bad("attribute 'intercepts' has {} elements, expected {}", intercepts.size(), rows);
  }
  Value* matrix =
      call.transpose(call.reshape(call.floats(coefficients), {rows, count / rows}), {1, 0});
  Value* scores = call.add(Op::kMatMul, {call.cast(call.input(0), DType::kF32), matrix});
  return intercepts.empty() ? scores : call.add(Op::kAdd, {scores, call.floats(intercepts)});
}

Result<Value*> transformed(ExpandCall& call, Value* scores, const std::string& name) {
  if (name == "NONE") return scores;
  if (name == "SOFTMAX") return call.add(Op::kSoftmax, {scores}, {{"axis", int64_t{-1}}});
  if (name == "LOGISTIC") return call.add(Op::kSigmoid, {scores});
  if (name == "SOFTMAX_ZERO") return softmax_but_zeros(call, scores);
  if (name == "PROBIT") return probit(call, scores);
  return call.bad(
      "attribute 'post_transform' is '{}', expected NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or "
      "PROBIT",
      name);
}

Value* both_classes(ExpandCall& call, Value* score, bool are_probabilities) {
  Value* first =
      are_probabilities ? call.add(Op::kSub, {call.number(1), score}) : call.add(Op::kNeg, {score});
  return call.concat({first, score}, 1);
}

size_t label_count(const ExpandCall& call, const StringsAttribute& strings,
                   const IntsAttribute& ints) {
  return call.has(strings) ? call.get(strings).size() : call.get(ints).size();
}

Result<Value*> best_labels(ExpandCall& call, Value* scores, const StringsAttribute& strings,
                           const IntsAttribute& ints) {
  if (label_count(call, strings, ints) == 0)
    return call.bad("it has no attribute '{}' or '{}'", strings.name, ints.name);
  Value* labels = call.has(strings) ? call.strings(call.get(strings)) : call.ints(call.get(ints));
  Value* best = call.add(Op::kArgMax, {scores}, {{"axis", int64_t{-1}}, {"keepdims", int64_t{0}}});
  return call.add(Op::kGather, {labels, best}, {{"axis", int64_t{0}}});
}

}  // namespace sluice
