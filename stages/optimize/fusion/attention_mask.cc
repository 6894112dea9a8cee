#include "stages/optimize/fusion/attention_mask.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/ops/attributes.h"
#include "common/ops/dim_math.h"
#include "stages/optimize/constants.h"

namespace sluice {
namespace {

// A softmax gives a key with this score no weight beside others: e^-10,000 is 0 in every dtype.
constexpr double kHidden = -1e4;
// A sum with this is this, in f32 as in f64, for all scores that do not come near it.
constexpr double kAbsorbing = -0x1p100;

const Value& operand_of(const ScoreStep& step) {
  return step.bias != nullptr ? *step.bias : *step.condition;
}

// Returns the dims of a step's operand, aligned with [batch, heads, queries, keys].
std::vector<Dim> aligned_dims(const ScoreStep& step, const std::vector<Dim>& scores) {
  std::vector<Dim> dims = operand_of(step).type().dims;
  if (step.is_joint && dims.size() == 3) {
    const bool is_whole = dims[0] != Dim::fixed(1);
    dims[0] = is_whole ? scores[1] : Dim::fixed(1);
    dims.insert(dims.begin(), is_whole ? scores[0] : Dim::fixed(1));
  }
  dims.insert(dims.begin(), scores.size() - std::min(dims.size(), scores.size()), Dim::fixed(1));
  return dims;
}

// A mask [batch * heads, ...] gets its axis of heads by a view.
bool can_align(const ScoreStep& step, const std::vector<Dim>& scores) {
  const Type& type = operand_of(step).type();
  return !step.is_joint || type.rank() < 3 || type.dims[0] == Dim::fixed(1) ||
         scores[1] == Dim::fixed(1) || type.is_fixed();
}

// Returns whether the operands broadcast to the scores, and together to no more than one of them
// or than all heads share.
bool are_mask_operands(const std::vector<ScoreStep>& steps, const std::vector<Dim>& scores) {
  std::vector<Dim> whole(scores.size(), Dim::fixed(1));
  std::vector<std::vector<Dim>> each;
  for (const ScoreStep& step : steps) {
    const Type& type = operand_of(step).type();
    if (!type.is_tensor() || type.has_unknown() || !can_align(step, scores)) return false;
    each.push_back(aligned_dims(step, scores));
    if (each.back().size() != scores.size()) return false;
    for (size_t axis = 0; axis < scores.size(); ++axis) {
      const Dim& dim = each.back()[axis];
      if (dim == Dim::fixed(1)) continue;
      if (dim != scores[axis] && (axis < 2 || dim.is_fixed())) return false;
      whole[axis] = scores[axis];
    }
  }
  return whole[1] == Dim::fixed(1) || std::find(each.begin(), each.end(), whole) != each.end();
}

bool is_hiding(const ScoreStep& step) { return step.bias == nullptr; }

// Returns whether a part of a matrix has a row or column for each query or key wherever the step
// can be computed: it is as long, or shorter only where the matrix ends, and then more than 1.
bool covers(Module& module, const Dim& part, const Dim& whole) {
  if (part == whole) return true;
  if (!part.is_expression()) return false;
  DimMath math(module);
  const int64_t end = math.bounds(part).high;
  return end > 1 && math.minimum(whole, Dim::fixed(end)) == part;
}

// Returns the score of keys after a query's own where that is all that the step changes.
std::optional<double> read_causal(TriangleReader& triangles, const ScoreStep& step,
                                  const std::vector<Dim>& scores) {
  const std::vector<Dim>& dims = operand_of(step).type().dims;
  Module& module = operand_of(step).graph().module();
  if (scores[2] != scores[3] || dims.size() < 2 ||
      !covers(module, dims[dims.size() - 2], scores[2]) || !covers(module, dims.back(), scores[3]))
    return std::nullopt;
  const auto triangle = triangles.read(operand_of(step));
  if (!triangle) return std::nullopt;
  if (!is_hiding(step)) return triangle->lower == 0 ? std::optional(triangle->upper) : std::nullopt;
  const bool fits = (triangle->lower != 0) != step.hides && (triangle->upper != 0) == step.hides;
  return fits ? std::optional(step.hidden) : std::nullopt;
}

// Returns whether the mask says the same as the step, which other steps accompany.
bool is_exact(const ScoreStep& step, bool is_alone) {
  return !is_hiding(step) || step.hidden <= kAbsorbing || (is_alone && std::isfinite(step.hidden));
}

// Moves steps that hide the keys after each query's own into is_causal: a number other than -inf
// only where it is the only step, so that each row has a larger score.
void move_causal_steps(TriangleReader& triangles, const std::vector<Dim>& scores,
                       AttentionMask& mask) {
  const bool is_alone = mask.steps.size() == 1;
  const auto has_finite = [](const ScoreStep& step) {
    return is_hiding(step) && std::isfinite(step.hidden);
  };
  for (size_t i = mask.steps.size(); i-- > 0;) {
    const auto hidden = read_causal(triangles, mask.steps[i], scores);
    const auto at = mask.steps.begin() + static_cast<ptrdiff_t>(i);
    const bool stays_hidden =
        hidden && std::isinf(*hidden) && std::none_of(at + 1, mask.steps.end(), has_finite);
    if (!hidden || *hidden > kHidden || !(is_alone || stays_hidden)) continue;
    mask.is_causal = true;
    mask.steps.erase(at);
  }
}

Value& with_heads(NodeMaker& make, const ScoreStep& step, Value& operand,
                  const std::vector<Dim>& dims) {
  const Type& type = operand.type();
  if (!step.is_joint || type.rank() < 3) return operand;
  if (dims[1] != Dim::fixed(1)) return make.reshape(operand, dims);
  return make.add(Op::kUnsqueeze, {&operand, &add_ints(operand.graph(), {1})},
                  Type::tensor(type.dtype, dims));
}

// Returns the operand of a step with the sizes of the scores.
Value& aligned(NodeMaker& make, const ScoreStep& step, Value& operand, const ScoreSizes& scores) {
  std::vector<Dim> dims = aligned_dims(step, scores.dims);
  Value& apart = with_heads(make, step, operand, dims);
  const auto fits = [&](size_t axis) {
    return dims[axis] == Dim::fixed(1) || dims[axis] == scores.dims[axis];
  };
  if (fits(2) && fits(3)) return apart;
  std::copy(scores.dims.begin() + 2, scores.dims.end(), dims.begin() + 2);
  const auto rank = static_cast<ptrdiff_t>(std::max<size_t>(apart.type().dims.size(), 2));
  dims.erase(dims.begin(), dims.end() - rank);
  Node& sizes = make.node(Op::kConcat,
                          {&make.extent(*scores.queries, scores.query_axis),
                           &make.extent(*scores.keys, scores.key_axis)},
                          Type::fixed_tensor(DType::kI64, {2}));
  sizes.set(attributes::Concat::axis, int64_t{0});
  return make.add(Op::kExpand, {&apart, &sizes.output()},
                  Type::tensor(operand.type().dtype, std::move(dims)));
}

// Returns where the conditions of all steps, which hide keys by one number, leave them visible.
Value& make_visible(NodeMaker& make, const AttentionMask& mask, const ScoreSizes& scores) {
  Value* visible = nullptr;
  for (const ScoreStep& step : mask.steps) {
    Value* keys = &aligned(make, step, *step.condition, scores);
    if (step.hides) keys = &make.add(Op::kNot, {keys}, keys->type());
    visible =
        visible == nullptr ? keys : &make.elementwise(Op::kAnd, {visible, keys}, DType::kBool);
  }
  return *visible;
}

Value& hide(NodeMaker& make, const ScoreStep& step, Value& condition, Value* mask) {
  Value& visible = mask == nullptr ? make.number(0) : *mask;
  Value& hidden = make.number(static_cast<float>(step.hidden));
  const std::vector<Value*> operands = step.hides ? std::vector{&condition, &hidden, &visible}
                                                  : std::vector{&condition, &visible, &hidden};
  return make.elementwise(Op::kWhere, operands, DType::kF32);
}

}  // namespace

std::optional<AttentionMask> read_attention_mask(TriangleReader& triangles,
                                                 const std::vector<ScoreStep>& steps,
                                                 const std::vector<Dim>& scores) {
  AttentionMask mask{.steps = steps};
  move_causal_steps(triangles, scores, mask);
  const bool is_alone = mask.steps.size() == 1 && !mask.is_causal;
  const bool all_exact =
      std::all_of(mask.steps.begin(), mask.steps.end(),
                  [&](const ScoreStep& step) { return is_exact(step, is_alone); });
  if (!all_exact || !are_mask_operands(mask.steps, scores)) return std::nullopt;
  if (is_alone && is_hiding(mask.steps[0])) mask.hidden_score = mask.steps[0].hidden;
  return mask;
}

Value* make_attention_mask(NodeMaker& make, const AttentionMask& mask, const ScoreSizes& scores) {
  if (mask.steps.empty()) return nullptr;
  const bool all_hide = std::all_of(
      mask.steps.begin(), mask.steps.end(),
      [&](const ScoreStep& step) { return is_hiding(step) && step.hidden == mask.hidden_score; });
  if (all_hide) return &make_visible(make, mask, scores);
  const bool is_alone = mask.steps.size() == 1;
  Value* value = nullptr;
  for (const ScoreStep& step : mask.steps) {
    if (is_hiding(step)) {
      value = &hide(make, step, aligned(make, step, *step.condition, scores), value);
      continue;
    }
    Value& bias = aligned(make, step, *step.bias, scores);
    Value& wide = is_alone ? bias : make.cast(bias, DType::kF32);
    value = value == nullptr ? &wide : &make.elementwise(Op::kAdd, {value, &wide}, DType::kF32);
  }
  return value;
}

}  // namespace sluice
