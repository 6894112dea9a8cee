// Attention whose scores and probabilities go through bodies of the node.
#include <algorithm>
#include <cmath>
#include <vector>

#include "common/eval/dispatch.h"
#include "common/eval/kernels.h"
#include "common/eval/math64.h"
#include "common/eval/number.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

constexpr uint64_t kMaxScores = uint64_t{1} << 33;
constexpr size_t kOwnInputs = 3;  // captures follow

struct Sizes {
  int64_t batch = 0;
  int64_t q_heads = 0;
  int64_t heads = 0;  // of keys and values
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t key = 0;
  int64_t value = 0;

  int64_t rows() const { return batch * q_heads * queries; }
  // Returns the matrix of keys or values for a row of scores.
  int64_t matrix_of(int64_t row) const {
    const int64_t head = row / queries % q_heads;
    return row / queries / q_heads * heads + head / (q_heads / heads);
  }
};

Result<Sizes> read_sizes(const EvalCall& call) {
  const Input& q = call.input(0);
  const Input& k = call.input(1);
  const Input& v = call.input(2);
  if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4)
    return call.bad_shape("queries, keys and values need 4 dims");
  const Sizes sizes{q.dims[0], q.dims[1], k.dims[1], q.dims[2], k.dims[2], q.dims[3], v.dims[3]};
  const bool alike = k.dtype == q.dtype && v.dtype == q.dtype;
  const bool fits = alike && k.dims[0] == sizes.batch && v.dims[0] == sizes.batch &&
                    v.dims[1] == sizes.heads && v.dims[2] == sizes.keys && k.dims[3] == sizes.key &&
                    sizes.heads > 0 && sizes.q_heads % sizes.heads == 0;
  if (!fits)
    return call.bad_shape("queries {}, keys {} and values {} do not fit", dims_text(q.dims),
                          dims_text(k.dims), dims_text(v.dims));
  return sizes;
}

// Returns the dtype of scores from the first body to the last.
Result<DType> softmax_dtype(const EvalCall& call) {
  const DType own = call.input(0).logical == DType::kF64 ? DType::kF64 : DType::kF32;
  const int64_t named =
      call.node.get(attributes::FlexAttention::softmax_precision, static_cast<int64_t>(own));
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    if (named == static_cast<int64_t>(dtype)) return dtype;
  }
  return call.bad_value("the softmax precision {} is no float type", named);
}

// Returns the scores or probabilities as modified by the body, or unchanged where the node has no
// such body.
Result<EvalValue> modify(const EvalCall& call, const BodyAttribute& attribute, EvalValue given) {
  if (!call.node.has(attribute)) return given;
  const Graph* body = call.node.get(attribute);
  if (body == nullptr)
    return make_error(ErrorCode::kBadNode, "{}: has no body '{}'", call.node.label(),
                      attribute.name);
  std::vector<Operand> inputs = {Operand::of(given)};
  inputs.insert(inputs.end(), call.operands.begin() + kOwnInputs, call.operands.end());
  SLUICE_ASSIGN(auto made, evaluate_body(*body, inputs, call.options));
  const Tensor* tensor = made.size() == 1 ? made[0].tensor.get() : nullptr;
  if (tensor == nullptr || tensor->dtype != given.tensor->dtype ||
      tensor->dims != given.tensor->dims)
    return call.bad_shape("'{}' does not keep the type {} and the shape {}", attribute.name,
                          dtype_name(given.tensor->dtype), dims_text(given.tensor->dims));
  return std::move(made[0]);
}

template <typename T>
double dot(const T* a, const T* b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

template <typename T>
Tensor make_scores(const EvalCall& call, const Sizes& sizes, DType dtype) {
  const double scale = call.node.has(attributes::FlexAttention::scale)
                           ? static_cast<double>(call.node.get(attributes::FlexAttention::scale))
                           : 1 / std::sqrt(static_cast<double>(sizes.key));
  Tensor scores = make_tensor(dtype, {sizes.batch, sizes.q_heads, sizes.queries, sizes.keys});
  std::vector<double> line(static_cast<size_t>(sizes.keys));
  for (int64_t row = 0; row < sizes.rows(); ++row) {
    const T* q = call.input(0).as<T>() + row * sizes.key;
    const T* k = call.input(1).as<T>() + sizes.matrix_of(row) * sizes.keys * sizes.key;
    for (int64_t j = 0; j < sizes.keys; ++j)
      line[static_cast<size_t>(j)] = scale * dot(q, k + j * sizes.key, sizes.key);
    store_doubles(dtype, scores.bytes.data(), row * sizes.keys, sizes.keys, line.data());
  }
  return scores;
}

// Computes what Softmax does: a row of only -infinity becomes NaN.
Tensor softmax_rows(const Tensor& scores, const Sizes& sizes) {
  Tensor probabilities = make_tensor(scores.dtype, scores.dims);
  std::vector<double> line(static_cast<size_t>(sizes.keys));
  for (int64_t row = 0; !line.empty() && row < sizes.rows(); ++row) {
    load_doubles(scores.dtype, scores.bytes.data(), row * sizes.keys, sizes.keys, line.data());
    const double top = *std::ranges::max_element(line);
    double sum = 0;
    for (double& score : line) sum += score = math::exp(score - top);
    for (double& score : line) score /= sum;
    store_doubles(scores.dtype, probabilities.bytes.data(), row * sizes.keys, sizes.keys,
                  line.data());
  }
  return probabilities;
}

template <typename T>
void mix_values(const EvalCall& call, const Sizes& sizes, const Tensor& probabilities,
                const Output& y) {
  std::vector<double> line(static_cast<size_t>(sizes.keys)), sum(static_cast<size_t>(sizes.value));
  for (int64_t row = 0; row < sizes.rows(); ++row) {
    load_doubles(probabilities.dtype, probabilities.bytes.data(), row * sizes.keys, sizes.keys,
                 line.data());
    const T* v = call.input(2).as<T>() + sizes.matrix_of(row) * sizes.keys * sizes.value;
    std::ranges::fill(sum, 0.0);
    for (const double probability : line) {
      for (double& total : sum) total += probability * static_cast<double>(*v++);
    }
    std::ranges::transform(sum, y.as<T>() + row * sizes.value,
                           [](double total) { return static_cast<T>(total); });
  }
}

}  // namespace

// Computes prob_mod(softmax(score_mod(Q K' scale))) V.
Result<void> eval_flex_attention(EvalCall& call) {
  SLUICE_ASSIGN(const Sizes sizes, read_sizes(call));
  SLUICE_ASSIGN(const DType dtype, softmax_dtype(call));
  SLUICE_ASSIGN(const Output y,
                call.output_like(0, 0, {sizes.batch, sizes.q_heads, sizes.queries, sizes.value}));
  if (y.count == 0) return {};
  const auto count =
      element_count(std::vector<int64_t>{sizes.batch, sizes.q_heads, sizes.queries, sizes.keys});
  if (!count || *count > kMaxScores) {
    return make_error(ErrorCode::kLimit,
                      "{}: {} queries of {} heads for {} keys, {} times, have more than {} scores",
                      call.node.label(), sizes.queries, sizes.q_heads, sizes.keys, sizes.batch,
                      kMaxScores)
        .with_hint("make the inputs smaller");
  }
  return visit_float(call, call.input(0).dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    SLUICE_ASSIGN(const EvalValue scores,
                  modify(call, attributes::FlexAttention::score_mod,
                         EvalValue::of(make_scores<T>(call, sizes, dtype))));
    SLUICE_ASSIGN(const EvalValue mixed,
                  modify(call, attributes::FlexAttention::prob_mod,
                         EvalValue::of(softmax_rows(*scores.tensor, sizes))));
    mix_values<T>(call, sizes, *mixed.tensor, y);
    return {};
  });
}

}  // namespace sluice::eval
