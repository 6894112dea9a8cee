// Random numbers: the Mersenne Twister MT19937 (Matsumoto and Nishimura, 1998), seeded and
// converted to numbers as in numpy's RandomState. ONNX's reference implementation uses that one, so
// a seed produces the numbers of ONNX's own test data. A node restarts its generator each time it
// is evaluated, so every run produces the same numbers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "common/eval/axes.h"
#include "common/eval/kernels.h"
#include "common/eval/math64.h"
#include "common/eval/number.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

// Returns the generator's seed. Numpy accepts seeds from 0 to 2^32 - 1. The seeds that import
// assigns to nodes without one are negative, so every number is a valid seed.
uint32_t seed_of(const Node& node) {
  if (node.op() == Op::kDropout) return static_cast<uint32_t>(node.get(attributes::Dropout::seed));
  const float seed = node.get(attributes::RandomNormal::seed);
  return seed >= 0 && seed < 4294967296.0f ? static_cast<uint32_t>(seed)
                                           : std::bit_cast<uint32_t>(seed);
}

class Random {
 public:
  explicit Random(const Node& node) : bits_(seed_of(node)) {}

  // Returns a number in [0, 1) with 53 bits.
  double uniform() {
    const auto high = static_cast<double>(bits_() >> 5);
    const auto low = static_cast<double>(bits_() >> 6);
    return (high * 67108864.0 + low) / 9007199254740992.0;
  }

  // Returns a number by Marsaglia's polar method, which makes two at a time.
  double normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    double x = 0, y = 0, square = 0;
    do {
      x = 2 * uniform() - 1;
      y = 2 * uniform() - 1;
      square = x * x + y * y;
    } while (square >= 1 || square == 0);
    const double factor = std::sqrt(-2 * math::log(square) / square);
    spare_ = factor * x;
    has_spare_ = true;
    return factor * y;
  }

 private:
  std::mt19937 bits_;
  double spare_ = 0;
  bool has_spare_ = false;
};

constexpr int64_t kDrawsAtOnce = 1024;  // a multiple of the packed elements in a byte

Result<void> fill(EvalCall& call, DType dtype, std::vector<int64_t> dims,
                  const std::function<double()>& draw) {
  SLUICE_ASSIGN(const Output y, call.output(0, dtype, std::move(dims)));
  double numbers[kDrawsAtOnce];
  for (int64_t first = 0; first < y.count; first += kDrawsAtOnce) {
    const int64_t count = std::min(kDrawsAtOnce, y.count - first);
    std::generate_n(numbers, count, draw);
    store_doubles(y.dtype, y.data, first, count, numbers);
  }
  return {};
}

Result<void> fill_uniform(EvalCall& call, DType dtype, std::vector<int64_t> dims) {
  const double low = call.node.get(attributes::RandomUniform::low);
  const double range = call.node.get(attributes::RandomUniform::high) - low;
  Random random(call.node);
  return fill(call, dtype, std::move(dims), [&] { return low + range * random.uniform(); });
}

Result<void> fill_normal(EvalCall& call, DType dtype, std::vector<int64_t> dims) {
  const double mean = call.node.get(attributes::RandomNormal::mean);
  const double scale = call.node.get(attributes::RandomNormal::scale);
  Random random(call.node);
  return fill(call, dtype, std::move(dims), [&] { return mean + scale * random.normal(); });
}

DType dtype_or(const EvalCall& call, DType fallback) {
  return static_cast<DType>(
      call.node.get(attributes::RandomNormal::dtype, static_cast<int64_t>(fallback)));
}

// Returns the cumulative sums of a row's weights, by which a number is drawn.
Result<std::vector<double>> cumulated(const EvalCall& call, const double* logs, int64_t count) {
  const double maximum = *std::max_element(logs, logs + count);
  std::vector<double> sums;
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sums.push_back(sum += math::exp(logs[i] - maximum));
  if (!(sum > 0) || !std::isfinite(sum))
    return call.bad_value("the log-probabilities of a row say nothing: their largest is {}",
                          maximum);
  return sums;
}

// Returns the scale of the kept elements, 1 / (kept ratio), in the precision of the ratio.
double kept_scale(const EvalCall& call, double ratio) {
  if (call.input(1).logical == DType::kF64) return 1 / (1 - ratio);
  return 1.0f / (1.0f - static_cast<float>(ratio));
}

Result<void> scale_kept(EvalCall& call, const std::vector<uint8_t>& kept, double scale) {
  const Input& x = call.input(0);
  std::vector<double> elements(kept.size());
  load_doubles(x.dtype, x.data, 0, x.count, elements.data());
  size_t at = 0;
  const auto next = [&] {
    const size_t i = at++;
    return kept[i] != 0 ? elements[i] * scale : 0.0;
  };
  return fill(call, x.logical, to_vector(x.dims), next);
}

}  // namespace

Result<void> eval_random_uniform(EvalCall& call) {
  return fill_uniform(call, dtype_or(call, DType::kF32),
                      call.node.get(attributes::RandomUniform::shape));
}
Result<void> eval_random_normal(EvalCall& call) {
  return fill_normal(call, dtype_or(call, DType::kF32),
                     call.node.get(attributes::RandomNormal::shape));
}

Result<void> eval_random_uniform_like(EvalCall& call) {
  return fill_uniform(call, dtype_or(call, call.input(0).logical), to_vector(call.input(0).dims));
}
Result<void> eval_random_normal_like(EvalCall& call) {
  return fill_normal(call, dtype_or(call, call.input(0).logical), to_vector(call.input(0).dims));
}

Result<void> eval_bernoulli(EvalCall& call) {
  const Input& x = call.input(0);
  std::vector<double> chances(static_cast<size_t>(x.count));
  load_doubles(x.dtype, x.data, 0, x.count, chances.data());
  if (!std::ranges::all_of(chances, [](double chance) { return chance >= 0 && chance <= 1; })) {
    return call.bad_value(
        "an element of the input is no probability, expected numbers from 0 to 1");
  }
  Random random(call.node);
  auto chance = chances.begin();
  return fill(call, dtype_or(call, x.logical), to_vector(x.dims),
              [&] { return random.uniform() < *chance++ ? 1.0 : 0.0; });
}

Result<void> eval_multinomial(EvalCall& call) {
  const Input& x = call.input(0);
  const int64_t samples = call.node.get(attributes::Multinomial::sample_size);
  if (x.rank() != 2 || x.dims[1] == 0)
    return call.bad_shape("the input is {}, expected rows of log-probabilities", dims_text(x.dims));
  if (samples < 1)
    return call.bad_value("attribute 'sample_size' is {}, expected at least 1", samples);
  std::vector<double> logs(static_cast<size_t>(x.count));
  load_doubles(x.dtype, x.data, 0, x.count, logs.data());
  SLUICE_ASSIGN(const Output y, call.output(0, dtype_or(call, DType::kI32), {x.dims[0], samples}));
  Random random(call.node);
  for (int64_t row = 0; row < x.dims[0]; ++row) {
    SLUICE_ASSIGN(const std::vector<double> sums,
                  cumulated(call, logs.data() + row * x.dims[1], x.dims[1]));
    for (int64_t k = 0; k < samples; ++k) {
      const int64_t drawn =
          std::ranges::upper_bound(sums, random.uniform() * sums.back()) - sums.begin();
      // Rounding must not select an element of probability 0.
      const int64_t last = std::ranges::lower_bound(sums, sums.back()) - sums.begin();
      const int64_t number = std::min(drawn, last);
      store_ints(y.dtype, y.data, row * samples + k, 1, &number);
    }
  }
  return {};
}

Result<void> eval_dropout(EvalCall& call) {
  const bool training = call.integer(2, 0) != 0;
  const double ratio = call.number(1, 0.5);
  if (training && !(ratio >= 0 && ratio < 1))
    return call.bad_value("the ratio is {}, expected at least 0 and less than 1", ratio);
  const Input& x = call.input(0);
  std::vector<uint8_t> kept(static_cast<size_t>(x.count), 1);
  if (training && ratio != 0) {
    Random random(call.node);
    for (uint8_t& keeps : kept) keeps = random.uniform() >= ratio ? 1 : 0;
    SLUICE_TRY(scale_kept(call, kept, kept_scale(call, ratio)));
  } else {
    SLUICE_TRY(call.copy_input(0, 0, to_vector(x.dims)));
  }
  if (!call.wants(1)) return {};
  SLUICE_ASSIGN(const Output mask, call.output(1, DType::kBool, to_vector(x.dims)));
  std::ranges::copy(kept, mask.as<uint8_t>());
  return {};
}

}  // namespace sluice::eval
