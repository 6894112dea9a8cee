#include "stages/optimize/fusion/attention_scores.h"

#include <algorithm>

#include "common/target/aicore.h"
#include "stages/optimize/constants.h"
#include "stages/optimize/fusion/attention_operand.h"

namespace sluice {
namespace {

// More nodes than exporters write between a product and its softmax; it bounds the search, which
// tries both operands of a sum.
constexpr int kMaxScoreDepth = 8;

bool has_shape_of(const Value& a, const Value& b) {
  return b.type().is_tensor() && b.type().ranked && a.type().dims == b.type().dims;
}

std::optional<AttentionScores> read_score_product(Value& value) {
  AttentionScores found;
  Scaled scaled = read_all_factors(value);
  if (const Node* tanh = find_maker(scaled.value, Op::kTanh)) {
    found.softcap = scaled.factor;
    scaled = read_all_factors(*tanh->input(0));
    scaled.factor *= found.softcap;
    if (!(found.softcap > 0)) return std::nullopt;
  }
  const Node* product = find_maker(scaled.value, Op::kMatMul);
  if (product == nullptr || !is_transposed_keys(*product->input(1))) return std::nullopt;
  found.product = scaled.value->producer();
  found.scale = scaled.factor;
  return found;
}

std::optional<AttentionScores> read_steps(Value& value, int depth);

std::optional<AttentionScores> read_behind(Value& scores, Value& source, ScoreStep step,
                                           int depth) {
  auto found = has_shape_of(scores, source) ? read_steps(source, depth + 1) : std::nullopt;
  step.is_joint = scores.type().rank() == 3;
  if (found) found->steps.push_back(step);
  return found;
}

std::optional<AttentionScores> read_sum(const Node& sum, int depth) {
  for (const size_t i : {0, 1}) {
    if (auto found = read_behind(sum.output(), *sum.input(i), {.bias = sum.input(1 - i)}, depth))
      return found;
  }
  return std::nullopt;
}

std::optional<AttentionScores> read_hiding_choice(const Node& choice, int depth) {
  for (const size_t i : {1, 2}) {
    const auto hidden = find_number(choice.input(i));
    if (!hidden) continue;
    const ScoreStep step{.condition = choice.input(0), .hides = i == 1, .hidden = *hidden};
    return read_behind(choice.output(), *choice.input(3 - i), step, depth);
  }
  return std::nullopt;
}

// Reads [batch * heads, queries, keys] as [batch, heads, queries, keys], or the other way round.
std::optional<AttentionScores> read_regrouped(const Node& reshape, int depth) {
  const Type &from = reshape.input(0)->type(), &to = reshape.output().type();
  if (!from.is_tensor() || from.has_unknown() || to.has_unknown() || from.rank() < 3 ||
      to.rank() + from.rank() != 7 ||
      !std::equal(from.dims.end() - 2, from.dims.end(), to.dims.end() - 2))
    return std::nullopt;
  auto found = read_steps(*reshape.input(0), depth + 1);
  const std::vector<Dim>& by_head = (to.rank() == 4 ? to : from).dims;
  if (!found || (found->by_head && *found->by_head != by_head)) return std::nullopt;
  found->by_head = by_head;
  return found;
}

std::optional<AttentionScores> read_steps(Value& value, int depth) {
  if (depth == kMaxScoreDepth) return std::nullopt;
  Value& scores = behind_float_casts(value);
  if (const Node* sum = find_maker(&scores, Op::kAdd)) return read_sum(*sum, depth);
  if (const Node* choice = find_maker(&scores, Op::kWhere))
    return read_hiding_choice(*choice, depth);
  if (const Node* reshape = find_maker(&scores, Op::kReshape))
    return read_regrouped(*reshape, depth);
  return read_score_product(scores);
}

}  // namespace

Value& behind_float_casts(Value& value) {
  Value* at = &value;
  for (const Node* cast = find_maker(at, Op::kCast); cast != nullptr;
       cast = find_maker(at, Op::kCast)) {
    Value& source = *cast->input(0);
    if (!is_contraction_dtype(at->type().dtype) || !is_contraction_dtype(source.type().dtype))
      break;
    at = &source;
  }
  return *at;
}

Scaled read_all_factors(Value& value) {
  Scaled all{&behind_float_casts(value)};
  while (true) {
    const Scaled next = read_scaled(*all.value);
    if (next.value == all.value || !has_shape_of(*all.value, *next.value)) return all;
    all = {&behind_float_casts(*next.value), all.factor * next.factor};
  }
}

std::optional<AttentionScores> read_attention_scores(Value& scores) {
  return read_steps(scores, 0);
}

}  // namespace sluice
