// Attention.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "common/eval/attention_heads.h"
#include "common/eval/axes.h"
#include "common/eval/broadcast.h"
#include "common/eval/dispatch.h"
#include "common/eval/kernels.h"
#include "common/eval/math64.h"
#include "common/eval/number.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

// The position of the mask's elements for each query.
struct MaskRows {
  std::vector<int64_t> strides;  // of the mask along batch, heads, queries; keys are dense
  int64_t keys = 0;
  bool causal = false;                                       // a query sees no key after its own
  double hidden = -std::numeric_limits<double>::infinity();  // the score where a bool is false
};

Result<MaskRows> make_mask_rows(const EvalCall& call, int64_t batch, int64_t heads, int64_t queries,
                                int64_t keys) {
  const Input& mask = call.input(3);
  MaskRows rows;
  rows.causal = call.node.get(attributes::Attention::is_causal) != 0;
  if (call.node.has(attributes::Attention::hidden_score))
    rows.hidden = call.node.get(attributes::Attention::hidden_score);
  if (!mask.present()) return rows;
  std::vector<int64_t> to = {batch, heads, queries, mask.rank() > 0 ? mask.dims.back() : 1};
  if (!broadcasts_to(mask.dims, to) || (to.back() > keys && to.back() != 1))
    return call.bad_shape("the mask {} does not fit {}", dims_text(mask.dims), dims_text(to));
  rows.strides = broadcast_strides(mask.dims, to);
  rows.keys = to.back();
  return rows;
}

// keeps_nan: a line of -inf alone becomes NaN, as it stands, not 0.
void softmax_in_place(std::vector<double>& line, bool keeps_nan) {
  const double top = *std::ranges::max_element(line);
  if (keeps_nan && std::isinf(top))
    return static_cast<void>(std::ranges::fill(line, std::numeric_limits<double>::quiet_NaN()));
  double sum = 0;
  for (double& value : line) {
    value = std::isinf(top) ? 0 : math::exp(value - top);
    sum += value;
  }
  for (double& value : line) value = sum == 0 ? 0 : value / sum;
}

// The queries, and all keys and values: those of the past, then the new ones.
template <typename T>
struct Operands {
  Heads<T> q, k, v;
  int64_t new_keys = 0;
  std::vector<int64_t> lengths;  // the valid keys of each batch; empty: all are valid
};

template <typename T>
bool operands_match(const Operands<T>& operands) {
  const auto& [q, k, v, new_keys, lengths] = operands;
  return k.batch == q.batch && v.batch == q.batch && k.size == q.size && k.length == v.length &&
         k.heads == v.heads && k.heads > 0 && q.heads % k.heads == 0 &&
         (lengths.empty() || static_cast<int64_t>(lengths.size()) == q.batch);
}

template <typename T>
Result<Operands<T>> load_operands(const EvalCall& call) {
  const int64_t kv_heads = call.node.get(attributes::Attention::kv_num_heads);
  Operands<T> operands;
  SLUICE_ASSIGN(operands.q,
                load_heads<T>(call, 0, call.node.get(attributes::Attention::q_num_heads)));
  SLUICE_ASSIGN(const Heads<T> new_k, load_heads<T>(call, 1, kv_heads));
  SLUICE_ASSIGN(const Heads<T> new_v, load_heads<T>(call, 2, kv_heads));
  SLUICE_ASSIGN(operands.k, with_past(call, new_k, 4));
  SLUICE_ASSIGN(operands.v, with_past(call, new_v, 5));
  operands.new_keys = new_k.length;
  operands.lengths = call.ints(6);
  if (!operands_match(operands)) return call.bad_shape("queries, keys and values do not fit");
  return operands;
}

// One row of the score matrix: a query and the keys that it may see.
struct Query {
  int64_t index = 0;  // over batches, heads and queries
  int64_t batch = 0, head = 0, position = 0;
  int64_t kv_head = 0;     // a key head serves q.heads / k.heads query heads
  int64_t past_keys = 0;   // keys before the first query's own key
  int64_t valid_keys = 0;  // keys from here on are padding
};

template <typename T>
Query find_query(const Operands<T>& operands, int64_t index) {
  const auto& [q, k, v, new_keys, lengths] = operands;
  Query query{.index = index,
              .batch = index / (q.heads * q.length),
              .head = index / q.length % q.heads,
              .position = index % q.length};
  query.kv_head = query.head / (q.heads / k.heads);
  query.valid_keys = lengths.empty() ? k.length : lengths[static_cast<size_t>(query.batch)];
  query.past_keys = lengths.empty() ? k.length - new_keys : query.valid_keys - q.length;
  return query;
}

template <typename T>
double scale_of(const EvalCall& call, const Operands<T>& operands) {
  const float scale = call.node.get(attributes::Attention::scale);
  return scale != 0 ? static_cast<double>(scale)
                    : 1 / std::sqrt(static_cast<double>(operands.q.size));
}

// Computes: for key j: line[j] = scale * sum over d of q[d] * k[j][d].
template <typename T>
void compute_scores(const Operands<T>& operands, const Query& query, double scale,
                    std::vector<double>& line) {
  const T* q = operands.q.row(query.batch, query.head, query.position);
  for (int64_t j = 0; j < operands.k.length; ++j) {
    const T* k = operands.k.row(query.batch, query.kv_head, j);
    double dot = 0;
    for (int64_t d = 0; d < operands.q.size; ++d)
      dot += static_cast<double>(q[d]) * static_cast<double>(k[d]);
    line[static_cast<size_t>(j)] = dot * scale;
  }
}

void cap_scores(double cap, std::vector<double>& line) {
  for (double& score : line) {
    if (cap > 0) score = cap * math::tanh(score / cap);
  }
}

double masked(const Input& mask, const MaskRows& rows, const Query& query, int64_t j,
              double score) {
  if (!mask.present()) return score;
  if (j >= rows.keys && rows.keys != 1)
    return -std::numeric_limits<double>::infinity();  // keys beyond a shorter mask are hidden
  const int64_t at = query.batch * rows.strides[0] + query.head * rows.strides[1] +
                     query.position * rows.strides[2] + j * rows.strides[3];
  double value = 0;
  load_doubles(mask.dtype, mask.data, at, 1, &value);
  if (mask.dtype != DType::kBool) return score + value;
  return value != 0 ? score : rows.hidden;
}

// Adds the mask and hides the padding and, if the node is causal, the keys after the query's own.
void mask_scores(const EvalCall& call, const MaskRows& rows, const Query& query,
                 std::vector<double>& line) {
  const auto count = static_cast<int64_t>(line.size());
  for (int64_t j = 0; j < count; ++j) {
    double& score = line[static_cast<size_t>(j)];
    score = masked(call.input(3), rows, query, j, score);
    if ((rows.causal && j > query.position + query.past_keys) || j >= query.valid_keys)
      score = -std::numeric_limits<double>::infinity();
  }
}

// The optional fourth output: the scores after one of their four steps.
template <typename T>
struct ScoreOutput {
  int64_t mode = 0;  // qk_matmul_output_mode: the step whose scores are stored
  T* scores = nullptr;

  void store(int64_t step, const Query& query, const std::vector<double>& line) const {
    if (scores == nullptr || step != mode) return;
    std::ranges::transform(line, scores + query.index * static_cast<int64_t>(line.size()),
                           [](double s) { return static_cast<T>(s); });
  }
};

template <typename T>
Result<ScoreOutput<T>> make_score_output(EvalCall& call, const Heads<T>& q, const Heads<T>& k) {
  if (!call.wants(3)) return ScoreOutput<T>{};
  SLUICE_ASSIGN(const Output scores,
                call.output_like(3, 0, {q.batch, q.heads, q.length, k.length}));
  return ScoreOutput<T>{call.node.get(attributes::Attention::qk_matmul_output_mode),
                        scores.as<T>()};
}

// Makes the result, which has the rank of Q: with rank 3 the heads of a query are adjacent.
template <typename T>
Result<Output> make_output(EvalCall& call, const Heads<T>& q, const Heads<T>& v) {
  std::vector<int64_t> dims = {q.batch, q.heads, q.length, v.size};
  if (call.input(0).rank() == 3) dims = {q.batch, q.length, q.heads * v.size};
  return call.output_like(0, 0, std::move(dims));
}

template <typename T>
T* output_row(const EvalCall& call, const Output& y, const Operands<T>& operands,
              const Query& query) {
  const auto& q = operands.q;
  const bool is_flat = call.input(0).rank() == 3;
  const int64_t flat_index = (query.batch * q.length + query.position) * q.heads + query.head;
  return y.as<T>() + (is_flat ? flat_index : query.index) * operands.v.size;
}

// Computes: for key j: sum += line[j] * v[j]; then to = sum.
template <typename T>
void weigh_values(const Operands<T>& operands, const Query& query, const std::vector<double>& line,
                  std::vector<double>& sum, T* to) {
  std::ranges::fill(sum, 0.0);
  for (int64_t j = 0; j < operands.v.length; ++j) {
    const T* v = operands.v.row(query.batch, query.kv_head, j);
    for (int64_t d = 0; d < operands.v.size; ++d)
      sum[static_cast<size_t>(d)] += line[static_cast<size_t>(j)] * static_cast<double>(v[d]);
  }
  std::ranges::transform(sum, to, [](double s) { return static_cast<T>(s); });
}

// Computes one query after the other, so that a single line of scores is in memory.
template <typename T>
Result<void> attend(EvalCall& call, const Operands<T>& operands) {
  const auto& [q, k, v, new_keys, lengths] = operands;
  SLUICE_ASSIGN(const MaskRows mask, make_mask_rows(call, q.batch, q.heads, q.length, k.length));
  SLUICE_ASSIGN(const Output y, make_output(call, q, v));
  SLUICE_ASSIGN(const ScoreOutput<T> scores, make_score_output(call, q, k));
  const double scale = scale_of(call, operands);
  const double cap = call.node.get(attributes::Attention::softcap);
  const bool keeps_nan = call.node.has(attributes::Attention::hidden_score);
  std::vector<double> line(static_cast<size_t>(k.length)), sum(static_cast<size_t>(v.size));
  for (int64_t index = 0; index < q.batch * q.heads * q.length; ++index) {
    const Query query = find_query(operands, index);
    compute_scores(operands, query, scale, line);
    scores.store(0, query, line);
    cap_scores(cap, line);
    scores.store(1, query, line);
    mask_scores(call, mask, query, line);
    scores.store(2, query, line);
    if (!line.empty()) softmax_in_place(line, keeps_nan);
    scores.store(3, query, line);
    weigh_values(operands, query, line, sum, output_row(call, y, operands, query));
  }
  return {};
}

}  // namespace

// Computes softmax(softcap(Q K' scale) + mask) V; the output keeps the rank of Q.
Result<void> eval_attention(EvalCall& call) {
  return visit_float(call, call.input(0).dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    SLUICE_ASSIGN(const Operands<T> operands, load_operands<T>(call));
    SLUICE_TRY(attend(call, operands));
    SLUICE_TRY(store_heads(call, 1, operands.k));
    return store_heads(call, 2, operands.v);
  });
}

}  // namespace sluice::eval
