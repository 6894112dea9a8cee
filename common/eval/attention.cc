// Attention and rotary embeddings.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/eval/axes.h"
#include "common/eval/broadcast.h"
#include "common/eval/dispatch.h"
#include "common/eval/kernels.h"
#include "common/eval/math64.h"
#include "common/eval/number.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

// Q, K and V as [batch, heads, length, size], from rank 4 or from rank 3 with heads inside the last
// axis.
template <typename T>
struct Heads {
  std::vector<T> values;
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t length = 0;
  int64_t size = 0;

  T* row(int64_t b, int64_t h, int64_t i) {
    return values.data() + ((b * heads + h) * length + i) * size;
  }
  const T* row(int64_t b, int64_t h, int64_t i) const {
    return values.data() + ((b * heads + h) * length + i) * size;
  }
};

template <typename T>
Result<Heads<T>> load_heads(const EvalCall& call, size_t input, int64_t heads) {
  const Input& x = call.input(input);
  Heads<T> result;
  if (x.rank() == 4) {
    result = {{x.as<T>(), x.as<T>() + x.count}, x.dims[0], x.dims[1], x.dims[2], x.dims[3]};
    return result;
  }
  if (x.rank() != 3 || heads < 1 || x.dims[2] % heads != 0)
    return call.bad_shape("input {} is {}, which does not fit {} heads", input, dims_text(x.dims),
                          heads);
  result = {std::vector<T>(static_cast<size_t>(x.count)), x.dims[0], heads, x.dims[1],
            x.dims[2] / heads};
  for (int64_t b = 0; b < result.batch; ++b) {
    for (int64_t i = 0; i < result.length; ++i) {
      for (int64_t h = 0; h < heads; ++h)
        std::copy_n(x.as<T>() + (b * result.length + i) * x.dims[2] + h * result.size, result.size,
                    result.row(b, h, i));
    }
  }
  return result;
}

// past [B, H, P, size] before the new rows.
template <typename T>
Result<Heads<T>> with_past(const EvalCall& call, const Heads<T>& now, size_t past_input) {
  if (!call.has(past_input)) return now;
  SLUICE_ASSIGN(const Heads<T> past, load_heads<T>(call, past_input, now.heads));
  if (past.batch != now.batch || past.heads != now.heads || past.size != now.size)
    return call.bad_shape("the past {} does not fit", dims_text(call.input(past_input).dims));
  Heads<T> all{{}, now.batch, now.heads, past.length + now.length, now.size};
  for (int64_t b = 0; b < now.batch; ++b) {
    for (int64_t h = 0; h < now.heads; ++h) {
      all.values.insert(all.values.end(), past.row(b, h, 0),
                        past.row(b, h, 0) + past.length * now.size);
      all.values.insert(all.values.end(), now.row(b, h, 0),
                        now.row(b, h, 0) + now.length * now.size);
    }
  }
  return all;
}

struct MaskRows {
  std::vector<int64_t> strides;  // of the mask along batch, heads, queries; keys are dense
  int64_t keys = 0;
};

Result<MaskRows> make_mask_rows(const EvalCall& call, int64_t batch, int64_t heads, int64_t queries,
                                int64_t keys) {
  const Input& mask = call.input(3);
  MaskRows rows;
  if (!mask.present()) return rows;
  std::vector<int64_t> to = {batch, heads, queries, mask.rank() > 0 ? mask.dims.back() : 1};
  if (!broadcasts_to(mask.dims, to) || (to.back() > keys && to.back() != 1))
    return call.bad_shape("the mask {} does not fit {}", dims_text(mask.dims), dims_text(to));
  rows.strides = broadcast_strides(mask.dims, to);
  rows.keys = to.back();
  return rows;
}

double mask_at(const Input& mask, const MaskRows& rows, int64_t b, int64_t h, int64_t i,
               int64_t j) {
  if (!mask.present()) return 0;
  if (j >= rows.keys && rows.keys != 1)
    return -std::numeric_limits<double>::infinity();  // keys beyond a shorter mask are hidden
  const int64_t at =
      b * rows.strides[0] + h * rows.strides[1] + i * rows.strides[2] + j * rows.strides[3];
  double value = 0;
  load_doubles(mask.dtype, mask.data, at, 1, &value);
  if (mask.dtype == DType::kBool) return value != 0 ? 0 : -std::numeric_limits<double>::infinity();
  return value;
}

void softmax(std::vector<double>& line) {
  const double top = *std::ranges::max_element(line);
  double sum = 0;
  for (double& value : line) {
    value = std::isinf(top) ? 0 : math::exp(value - top);
    sum += value;
  }
  for (double& value : line) value = sum == 0 ? 0 : value / sum;
}

template <typename T>
Result<void> store_heads(EvalCall& call, size_t output, const Heads<T>& heads) {
  if (!call.wants(output)) return {};
  SLUICE_ASSIGN(const Output y,
                call.output_like(output, 0, {heads.batch, heads.heads, heads.length, heads.size}));
  std::ranges::copy(heads.values, y.as<T>());
  return {};
}

}  // namespace

// softmax(softcap(Q K' scale) + mask) V; the output keeps Q's rank.
Result<void> eval_attention(EvalCall& call) {
  const auto& node = call.node;
  const int64_t q_heads = node.get(attributes::Attention::q_num_heads);
  const int64_t kv_heads = node.get(attributes::Attention::kv_num_heads);
  const double cap = node.get(attributes::Attention::softcap);
  const bool causal = node.get(attributes::Attention::is_causal) != 0;
  const int64_t kept = node.get(attributes::Attention::qk_matmul_output_mode);
  const auto lengths = call.ints(6);
  return visit_float(call, call.input(0).dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    SLUICE_ASSIGN(const Heads<T> q, load_heads<T>(call, 0, q_heads));
    SLUICE_ASSIGN(const Heads<T> new_k, load_heads<T>(call, 1, kv_heads));
    SLUICE_ASSIGN(const Heads<T> new_v, load_heads<T>(call, 2, kv_heads));
    SLUICE_ASSIGN(const Heads<T> k, with_past(call, new_k, 4));
    SLUICE_ASSIGN(const Heads<T> v, with_past(call, new_v, 5));
    const bool fits = k.batch == q.batch && v.batch == q.batch && k.size == q.size &&
                      k.length == v.length && k.heads == v.heads && k.heads > 0 &&
                      q.heads % k.heads == 0;
    if (!fits || (!lengths.empty() && static_cast<int64_t>(lengths.size()) != q.batch))
      return call.bad_shape("queries, keys and values do not fit");
    SLUICE_ASSIGN(const MaskRows rows, make_mask_rows(call, q.batch, q.heads, q.length, k.length));
    const float named = node.get(attributes::Attention::scale);
    const double scale =
        named != 0 ? static_cast<double>(named) : 1 / std::sqrt(static_cast<double>(q.size));
    const bool flat = call.input(0).rank() == 3;
    SLUICE_ASSIGN(
        const Output y,
        call.output_like(0, 0,
                         flat ? std::vector<int64_t>{q.batch, q.length, q.heads * v.size}
                              : std::vector<int64_t>{q.batch, q.heads, q.length, v.size}));
    Output scores;
    if (call.wants(3)) {
      SLUICE_ASSIGN(scores, call.output_like(3, 0, {q.batch, q.heads, q.length, k.length}));
    }
    std::vector<double> line(static_cast<size_t>(k.length)), sum(static_cast<size_t>(v.size));
    for (int64_t at = 0; at < q.batch * q.heads * q.length; ++at) {
      const int64_t b = at / (q.heads * q.length), h = at / q.length % q.heads, i = at % q.length;
      const int64_t own = h / (q.heads / k.heads);
      const int64_t valid = lengths.empty() ? k.length : lengths[static_cast<size_t>(b)];
      const int64_t past = lengths.empty() ? k.length - new_k.length : valid - q.length;
      const auto keep = [&](int64_t mode) {
        if (call.wants(3) && kept == mode)
          std::ranges::transform(line, scores.as<T>() + at * k.length,
                                 [](double s) { return static_cast<T>(s); });
      };
      for (int64_t j = 0; j < k.length; ++j) {
        double dot = 0;
        for (int64_t d = 0; d < q.size; ++d)
          dot += static_cast<double>(q.row(b, h, i)[d]) * static_cast<double>(k.row(b, own, j)[d]);
        line[static_cast<size_t>(j)] = dot * scale;
      }
      keep(0);
      for (double& score : line) {
        if (cap > 0) score = cap * math::tanh(score / cap);
      }
      keep(1);
      for (int64_t j = 0; j < k.length; ++j) {
        double& score = line[static_cast<size_t>(j)];
        score += mask_at(call.input(3), rows, b, h, i, j);
        if ((causal && j > i + past) || j >= valid)
          score = -std::numeric_limits<double>::infinity();
      }
      keep(2);
      if (!line.empty()) softmax(line);
      keep(3);
      std::ranges::fill(sum, 0.0);
      for (int64_t j = 0; j < k.length; ++j) {
        for (int64_t d = 0; d < v.size; ++d)
          sum[static_cast<size_t>(d)] +=
              line[static_cast<size_t>(j)] * static_cast<double>(v.row(b, own, j)[d]);
      }
      T* to = y.as<T>() + (flat ? ((b * q.length + i) * q.heads + h) : at) * v.size;
      std::ranges::transform(sum, to, [](double s) { return static_cast<T>(s); });
    }
    SLUICE_TRY(store_heads(call, 1, k));
    return store_heads(call, 2, v);
  });
}

Result<void> eval_rotary_embedding(EvalCall& call) {
  const Input& x = call.input(0);
  const Input& cosines = call.input(1);
  const Input& sines = call.input(2);
  const bool interleaved = call.node.get(attributes::RotaryEmbedding::interleaved) != 0;
  const bool flat = x.rank() == 3;
  int64_t heads = flat ? call.node.get(attributes::RotaryEmbedding::num_heads) : 0;
  if (x.rank() == 4) heads = x.dims[1];
  if ((x.rank() != 3 && x.rank() != 4) || heads < 1 || x.dims.back() % (flat ? heads : 1) != 0)
    return call.bad_shape("the input {} does not fit {} heads", dims_text(x.dims), heads);
  const int64_t size = flat ? x.dims[2] / heads : x.dims[3];
  const int64_t length = flat ? x.dims[1] : x.dims[2];
  const int64_t named = call.node.get(attributes::RotaryEmbedding::rotary_embedding_dim);
  const int64_t turned = named > 0 ? named : size;
  const int64_t half = turned / 2;
  const auto positions = call.ints(3);
  const int64_t rows = call.has(3) ? static_cast<int64_t>(positions.size()) : x.dims[0] * length;
  const bool fits = turned <= size && cosines.count == sines.count && cosines.dtype == x.dtype &&
                    sines.dtype == x.dtype && rows == x.dims[0] * length && cosines.rank() > 0 &&
                    cosines.dims.back() == half;
  if (!fits || (!call.has(3) && cosines.count != rows * half))
    return call.bad_shape("the tables {} do not fit the input {}", dims_text(cosines.dims),
                          dims_text(x.dims));
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, to_vector(x.dims)));
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    for (int64_t at = 0; size > 0 && at < x.count / size; ++at) {
      const int64_t i = flat ? at / heads % length : at % length;
      const int64_t b = at / (heads * length);
      const int64_t row =
          call.has(3) ? positions[static_cast<size_t>(b * length + i)] : b * length + i;
      if (row < 0 || (row + 1) * half > cosines.count)
        return call.bad_value("position {} lies outside the tables", row);
      const T* from = x.as<T>() + at * size;
      T* to = y.as<T>() + at * size;
      std::copy_n(from, size, to);
      for (int64_t k = 0; k < half; ++k) {
        const int64_t first = interleaved ? 2 * k : k;
        const int64_t second = interleaved ? 2 * k + 1 : half + k;
        const T c = cosines.as<T>()[row * half + k];
        const T s = sines.as<T>()[row * half + k];
        to[first] = c * from[first] - s * from[second];
        to[second] = s * from[first] + c * from[second];
      }
    }
    return {};
  });
}

}  // namespace sluice::eval
