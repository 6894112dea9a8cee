#include "stages/optimize/fusion/attention_match.h"

#include <algorithm>
#include <utility>

#include "common/ops/attributes.h"
#include "common/target/aicore.h"
#include "stages/optimize/constants.h"

namespace sluice {
namespace {

// Returns the softmax over the last axis whose weights are the value. zeros_nan: with zeros for
// NaN.
const Node* find_softmax(Value& weights, bool& zeros_nan) {
  const Value* at = &behind_float_casts(weights);
  if (const Node* choice = find_maker(at, Op::kWhere)) {
    const Node* test = find_maker(choice->input(0), Op::kIsNaN);
    if (test == nullptr || test->input(0) != choice->input(2) || find_number(choice->input(1)) != 0)
      return nullptr;
    zeros_nan = true;
    at = &behind_float_casts(*choice->input(2));
  }
  const Node* softmax = find_maker(at, Op::kSoftmax);
  if (softmax == nullptr) return nullptr;
  const int64_t axis = softmax->get(attributes::Softmax::axis);
  return axis == -1 || axis == at->type().rank() - 1 ? softmax : nullptr;
}

// Returns [batch, heads, queries, keys] of the scores. Where a product has batch and heads in one
// axis they are taken apart as the queries are, and else are a batch of one head.
std::vector<Dim> dims_by_head(const AttentionScores& scores) {
  if (scores.by_head) return *scores.by_head;
  std::vector<Dim> dims = scores.product->output().type().dims;
  if (dims.size() == 4) return dims;
  const Value& queries = *read_all_factors(*scores.product->input(0)).value;
  const Node* reshape = find_maker(&queries, Op::kReshape);
  const Type* apart = reshape == nullptr ? nullptr : &reshape->input(0)->type();
  const bool is_apart =
      apart != nullptr && apart->is_tensor() && apart->rank() == 4 &&
      std::equal(apart->dims.begin() + 2, apart->dims.end(), queries.type().dims.begin() + 1);
  if (!is_apart) return {dims[0], Dim::fixed(1), dims[1], dims[2]};
  return {apart->dims[0], apart->dims[1], dims[1], dims[2]};
}

// Returns [batch, heads, length, size] of an operand of a product with this result. A product
// repeats a single head by itself.
std::optional<std::vector<Dim>> operand_dims(const Value& operand, const Type& product,
                                             const std::vector<Dim>& by_head) {
  const Type& type = operand.type();
  if (!type.is_tensor() || type.has_unknown() || type.rank() != product.rank() ||
      type.dims[0] != product.dims[0] || !is_contraction_dtype(type.dtype))
    return std::nullopt;
  const auto size = type.dims.end();
  if (type.rank() == 3) return std::vector{by_head[0], by_head[1], size[-2], size[-1]};
  if (type.dims[1] != by_head[1] && type.dims[1] != Dim::fixed(1)) return std::nullopt;
  return type.dims;
}

bool have_scores_size(const FoundAttention& found) {
  const std::vector<Dim>&scores = found.by_head, &q = found.q.dims, &k = found.k.dims,
        &v = found.v.dims;
  return q[1] == scores[1] && q[2] == scores[2] && k[2] == scores[3] && v[2] == scores[3] &&
         q[3] == k[3] && q[1].is_fixed() && k[1].is_fixed() && q[3].is_fixed() && v[3].is_fixed() &&
         k[1] == v[1] && k[1].value > 0 && q[1].value % k[1].value == 0;
}

// Reads queries, keys and values; repeated heads where keys and values repeat them alike.
bool read_operands(const Node& last, FoundAttention& found) {
  const Node& first = *found.scores.product;
  const Type &product = first.output().type(), &result = last.output().type();
  const auto q = operand_dims(*first.input(0), product, found.by_head);
  auto k = operand_dims(*first.input(1), product, found.by_head);
  const auto v = operand_dims(*last.input(1), result, found.by_head);
  if (!q || !k || !v || last.input(1)->type().dtype != first.input(0)->type().dtype) return false;
  std::swap((*k)[2], (*k)[3]);
  const auto queries =
      read_attention_operand(*first.input(0), {OperandRole::kQueries, *q, false, last});
  for (const bool shares : {true, false}) {
    const auto keys =
        read_attention_operand(*first.input(1), {OperandRole::kKeys, *k, shares, last});
    const auto values =
        read_attention_operand(*last.input(1), {OperandRole::kValues, *v, shares, last});
    if (!queries || !keys || !values) return false;
    found.q = *queries;
    found.k = *keys;
    found.v = *values;
    if (have_scores_size(found)) return true;
  }
  return false;
}

// Returns whether the product of weights and values has a row for each row of the weights.
bool has_rows_of(const Type& result, const Type& weights, const std::vector<Dim>& by_head) {
  return result.rank() == weights.rank() &&
         std::equal(result.dims.begin(), result.dims.end() - 1, weights.dims.begin()) &&
         (result.rank() == 3 || result.dims[1] == by_head[1]);
}

}  // namespace

std::optional<FoundAttention> find_attention(TriangleReader& triangles, const Node& last) {
  bool zeros_nan = false;
  const Node* softmax = find_softmax(*last.input(0), zeros_nan);
  auto scores = softmax == nullptr ? std::nullopt : read_attention_scores(*softmax->input(0));
  if (!scores) return std::nullopt;
  const Type &product = scores->product->output().type(), &result = last.output().type();
  if (product.has_unknown() || result.has_unknown() || product.rank() < 3 || product.rank() > 4 ||
      result.rank() < 3 || result.rank() > 4)
    return std::nullopt;
  FoundAttention found{.scores = *scores, .by_head = dims_by_head(*scores)};
  if (!has_rows_of(result, last.input(0)->type(), found.by_head)) return std::nullopt;
  auto mask = read_attention_mask(triangles, scores->steps, found.by_head);
  if (!mask || !read_operands(last, found)) return std::nullopt;
  found.mask = *mask;
  found.zeros_nan = zeros_nan;
  return found;
}

}  // namespace sluice
