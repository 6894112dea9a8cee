// Attention without a softmax: each key head has a state [key size, value size] that every position
// of the sequence changes and reads.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <vector>

#include "common/eval/kernels.h"
#include "common/eval/math64.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

struct Rule {
  bool decays = false;  // the state decays before each position
  // The value that the state already returns for a key is subtracted from the value.
  bool corrects = false;
};

Result<Rule> read_rule(const EvalCall& call) {
  const std::string name = call.node.get(attributes::LinearAttention::update_rule);
  Rule rule;
  if (name == "gated" || name == "gated_delta") rule.decays = true;
  if (name == "delta" || name == "gated_delta") rule.corrects = true;
  if (name != "linear" && !rule.decays && !rule.corrects)
    return call.bad_value("the update rule '{}' is not known", name);
  if (call.has(4) != rule.decays)
    return call.bad_value("the update rule '{}' {} a decay", name,
                          rule.decays ? "needs" : "takes no");
  if (call.has(5) != rule.corrects)
    return call.bad_value("the update rule '{}' {} a beta", name,
                          rule.corrects ? "needs" : "takes no");
  return rule;
}

struct LinearAttentionSizes {
  int64_t batch = 0;
  int64_t length = 0;
  int64_t q_heads = 0;
  int64_t heads = 0;  // of keys and values
  int64_t key = 0;
  int64_t value = 0;
  int64_t width = 0;  // of the output: all query heads together
};

bool has_dims(const Input& x, std::initializer_list<int64_t> dims) {
  return !x.present() || std::ranges::equal(x.dims, dims);
}

Result<LinearAttentionSizes> read_linear_attention_sizes(const EvalCall& call) {
  const Input& q = call.input(0);
  const Input& k = call.input(1);
  const Input& v = call.input(2);
  LinearAttentionSizes sizes{.q_heads = call.node.get(attributes::LinearAttention::q_num_heads),
                             .heads = call.node.get(attributes::LinearAttention::kv_num_heads)};
  for (size_t i = 0; i < call.input_count(); ++i) {
    if (call.has(i) && call.input(i).dtype != DType::kF32)
      return call.unsupported(call.input(i).dtype);
  }
  if (sizes.heads < 1 || sizes.q_heads < 1 || sizes.q_heads % sizes.heads != 0)
    return call.bad_value("{} query heads cannot be divided among {} key heads", sizes.q_heads,
                          sizes.heads);
  const bool divides = q.rank() == 3 && k.rank() == 3 && v.rank() == 3 &&
                       q.dims[2] % sizes.q_heads == 0 && v.dims[2] % sizes.heads == 0;
  if (!divides)
    return call.bad_shape("query {} and value {} do not fit their heads", dims_text(q.dims),
                          dims_text(v.dims));
  sizes.batch = q.dims[0];
  sizes.length = q.dims[1];
  sizes.key = q.dims[2] / sizes.q_heads;
  sizes.value = v.dims[2] / sizes.heads;
  int64_t keys = 0;
  const bool overflows = __builtin_mul_overflow(sizes.q_heads, sizes.value, &sizes.width) ||
                         __builtin_mul_overflow(sizes.heads, sizes.key, &keys);
  const auto [batch, length] = std::pair(sizes.batch, sizes.length);
  const bool fits = !overflows && has_dims(k, {batch, length, keys}) &&
                    has_dims(v, {batch, length, v.dims[2]}) &&
                    has_dims(call.input(3), {batch, sizes.heads, sizes.key, sizes.value}) &&
                    (has_dims(call.input(4), {batch, length, sizes.heads}) ||
                     has_dims(call.input(4), {batch, length, keys})) &&
                    (has_dims(call.input(5), {batch, length, sizes.heads}) ||
                     has_dims(call.input(5), {batch, length, 1}));
  if (!fits) return call.bad_shape("the inputs do not fit the query {}", dims_text(q.dims));
  return sizes;
}

// The state of one key head of one batch element: a row of `value` numbers for each of `key`.
class State {
 public:
  State(int64_t key, int64_t value)
      : key_(key), value_(value), cells_(static_cast<size_t>(key * value)), answer_(cells(value)) {}

  void start(const float* past) {
    if (past == nullptr) std::ranges::fill(cells_, 0.0);
    if (past != nullptr) std::copy_n(past, cells_.size(), cells_.begin());
  }
  void store(float* to) const {
    std::ranges::transform(cells_, to, [](double cell) { return static_cast<float>(cell); });
  }

  // Applies the decay, given as logarithms: one for each row, or one for all where `stride` is 0.
  void fade(const float* decay, int64_t stride) {
    for (int64_t i = 0; i < key_; ++i) {
      const double factor = math::exp(static_cast<double>(decay[i * stride]));
      for (int64_t j = 0; j < value_; ++j) row(i)[j] *= factor;
    }
  }

  // Computes S += k v'; with beta S += k (beta (v - S' k))'.
  void write(const float* k, const float* v, const float* beta) {
    std::ranges::fill(answer_, 0.0);
    for (int64_t i = 0; beta != nullptr && i < key_; ++i) add_row(i, static_cast<double>(k[i]));
    for (int64_t j = 0; j < value_; ++j) {
      double& change = answer_[cells(j)];
      change = static_cast<double>(v[j]) - change;
      if (beta != nullptr) change *= static_cast<double>(*beta);
    }
    for (int64_t i = 0; i < key_; ++i) {
      for (int64_t j = 0; j < value_; ++j)
        row(i)[j] += static_cast<double>(k[i]) * answer_[cells(j)];
    }
  }

  // Computes y = scale S' q.
  void read(const float* q, double scale, float* y) {
    std::ranges::fill(answer_, 0.0);
    for (int64_t i = 0; i < key_; ++i) add_row(i, static_cast<double>(q[i]));
    std::ranges::transform(answer_, y,
                           [scale](double sum) { return static_cast<float>(scale * sum); });
  }

 private:
  static size_t cells(int64_t count) { return static_cast<size_t>(count); }
  double* row(int64_t i) { return cells_.data() + i * value_; }
  void add_row(int64_t i, double factor) {
    for (int64_t j = 0; j < value_; ++j) answer_[cells(j)] += factor * row(i)[j];
  }

  int64_t key_;
  int64_t value_;
  std::vector<double> cells_;
  std::vector<double> answer_;  // one number for each column
};

// Runs the state of one key head through all positions.
void run_head(const EvalCall& call, const Rule& rule, const LinearAttentionSizes& sizes, int64_t b,
              int64_t head, State& state, float* y) {
  const int64_t group = sizes.q_heads / sizes.heads;
  const float named = call.node.get(attributes::LinearAttention::scale);
  const double scale =
      named != 0 ? static_cast<double>(named) : 1 / std::sqrt(static_cast<double>(sizes.key));
  const Input& decay = call.input(4);
  const Input& beta = call.input(5);
  const int64_t decays = rule.decays && decay.dims[2] != sizes.heads ? sizes.key : 1;
  for (int64_t step = b * sizes.length; step < (b + 1) * sizes.length; ++step) {
    const int64_t at = step * sizes.heads + head;
    if (rule.decays) state.fade(decay.as<float>() + at * decays, decays == 1 ? 0 : 1);
    const float* strength =
        rule.corrects ? beta.as<float>() + (beta.dims[2] == 1 ? step : at) : nullptr;
    state.write(call.input(1).as<float>() + at * sizes.key,
                call.input(2).as<float>() + at * sizes.value, strength);
    for (int64_t own = at * group; own < (at + 1) * group; ++own)
      state.read(call.input(0).as<float>() + own * sizes.key, scale, y + own * sizes.value);
  }
}

}  // namespace

Result<void> eval_linear_attention(EvalCall& call) {
  SLUICE_ASSIGN(const Rule rule, read_rule(call));
  SLUICE_ASSIGN(const LinearAttentionSizes sizes, read_linear_attention_sizes(call));
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, {sizes.batch, sizes.length, sizes.width}));
  const size_t like = call.has(3) ? 3 : 0;
  // The state is made even when it is unused, so that one too large for memory is rejected here.
  SLUICE_ASSIGN(const Output present,
                call.output_like(1, like, {sizes.batch, sizes.heads, sizes.key, sizes.value}));
  if (y.count == 0 && present.count == 0) return {};
  State state(sizes.key, sizes.value);
  const int64_t cells = sizes.key * sizes.value;
  for (int64_t at = 0; at < sizes.batch * sizes.heads; ++at) {
    state.start(call.has(3) ? call.input(3).as<float>() + at * cells : nullptr);
    run_head(call, rule, sizes, at / sizes.heads, at % sizes.heads, state, y.as<float>());
    state.store(present.as<float>() + at * cells);
  }
  return {};
}

}  // namespace sluice::eval
