// Elementwise ops of one input.
#include <cmath>
#include <cstring>
#include <limits>

#include "common/eval/elementwise.h"
#include "common/eval/kernels.h"
#include "common/eval/math64.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

std::vector<int64_t> dims_of(const Input& x) { return {x.dims.begin(), x.dims.end()}; }

// Computes y with the dims of x; the kernel has no row when the type is not supported.
Result<void> map(EvalCall& call, const UnaryKernel& kernel) {
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, dims_of(x)));
  if (kernel.row == nullptr) return call.unsupported(x.dtype);
  apply_unary(x, y, kernel);
  return {};
}

Result<void> map_to_bool(EvalCall& call, const UnaryKernel& kernel) {
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const Output y, call.output(0, DType::kBool, dims_of(x)));
  if (kernel.row == nullptr) return call.unsupported(x.dtype);
  apply_unary(x, y, kernel);
  return {};
}

template <typename F>
Result<void> map_floats(EvalCall& call, F f) {
  const DType as = call.input(0).dtype;
  if (as == DType::kF32) return map(call, {&f, unary_row<float, float, F>, as, as});
  if (as == DType::kF64) return map(call, {&f, unary_row<double, double, F>, as, as});
  return map(call, {});
}

template <typename F>
Result<void> map_numbers(EvalCall& call, F f) {
  const DType as = number_class(call.input(0).dtype);
  if (as == DType::kI64) return map(call, {&f, unary_row<int64_t, int64_t, F>, as, as});
  if (as == DType::kU64) return map(call, {&f, unary_row<uint64_t, uint64_t, F>, as, as});
  return map_floats(call, f);
}

template <typename F>
Result<void> map_floats_to_bool(EvalCall& call, F f) {
  const DType as = call.input(0).dtype;
  if (as == DType::kF32)
    return map_to_bool(call, {&f, unary_row<float, uint8_t, F>, as, DType::kU8});
  if (as == DType::kF64)
    return map_to_bool(call, {&f, unary_row<double, uint8_t, F>, as, DType::kU8});
  return map_to_bool(call, {});
}

template <typename T>
T sigmoid(T x) {
  return T(1) / (T(1) + math::exp(-x));
}

template <typename T>
T softplus(T x) {
  return x > 0 ? x + math::log1p(math::exp(-x)) : math::log1p(math::exp(x));
}

template <typename T>
struct Between {
  T low = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                               : std::numeric_limits<T>::lowest();
  T high = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::max();

  T operator()(T v) const {
    const T raised = v < low ? low : v;  // NaN is unchanged
    return raised > high ? high : raised;
  }
};

template <typename T>
Result<void> clip(EvalCall& call, DType as) {
  Between<T> f;
  const auto bound = [&](size_t input, T& value) {
    const Input& from = call.input(input);
    if (from.count == 0 || from.dtype != call.input(0).dtype) return;
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(call.integer(input, 0));
    } else {
      value = from.as<T>()[0];
    }
  };
  bound(1, f.low);
  bound(2, f.high);
  return map(call, {&f, unary_row<T, T, Between<T>>, as, as});
}

}  // namespace

Result<void> eval_abs(EvalCall& call) {
  return map_numbers(call, []<typename T>(T x) -> T {
    if constexpr (std::is_floating_point_v<T>) return std::abs(x);
    return x < 0 ? static_cast<T>(uint64_t{0} - static_cast<uint64_t>(x)) : x;
  });
}
Result<void> eval_neg(EvalCall& call) {
  return map_numbers(call, []<typename T>(T x) -> T {
    if constexpr (std::is_floating_point_v<T>) return -x;
    return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(x));
  });
}
Result<void> eval_sign(EvalCall& call) {
  return map_numbers(call, []<typename T>(T x) -> T {
    return x > 0 ? T(1) : x < 0 ? static_cast<T>(-1) : x;
  });
}
Result<void> eval_relu(EvalCall& call) {
  // NaN is unchanged.
  return map_numbers(call, []<typename T>(T x) -> T { return x < 0 ? T(0) : x; });
}
Result<void> eval_sqrt(EvalCall& call) {
  return map_floats(call, [](auto x) { return std::sqrt(x); });
}
Result<void> eval_reciprocal(EvalCall& call) {
  return map_floats(call, []<typename T>(T x) { return T(1) / x; });
}
Result<void> eval_floor(EvalCall& call) {
  return map_floats(call, [](auto x) { return std::floor(x); });
}
Result<void> eval_ceil(EvalCall& call) {
  return map_floats(call, [](auto x) { return std::ceil(x); });
}
Result<void> eval_round(EvalCall& call) {
  return map_floats(call, [](auto x) { return std::nearbyint(x); });  // rounds half to even
}

#define SLUICE_FLOAT_FUNCTION(name)                                \
  Result<void> eval_##name(EvalCall& call) {                       \
    return map_floats(call, [](auto x) { return math::name(x); }); \
  }
SLUICE_FLOAT_FUNCTION(exp)
SLUICE_FLOAT_FUNCTION(log)
SLUICE_FLOAT_FUNCTION(erf)
SLUICE_FLOAT_FUNCTION(sin)
SLUICE_FLOAT_FUNCTION(cos)
SLUICE_FLOAT_FUNCTION(tan)
SLUICE_FLOAT_FUNCTION(asin)
SLUICE_FLOAT_FUNCTION(acos)
SLUICE_FLOAT_FUNCTION(atan)
SLUICE_FLOAT_FUNCTION(sinh)
SLUICE_FLOAT_FUNCTION(cosh)
SLUICE_FLOAT_FUNCTION(tanh)
SLUICE_FLOAT_FUNCTION(asinh)
SLUICE_FLOAT_FUNCTION(acosh)
SLUICE_FLOAT_FUNCTION(atanh)
#undef SLUICE_FLOAT_FUNCTION

Result<void> eval_sigmoid(EvalCall& call) {
  return map_floats(call, [](auto x) { return sigmoid(x); });
}
Result<void> eval_softplus(EvalCall& call) {
  return map_floats(call, [](auto x) { return softplus(x); });
}
Result<void> eval_softsign(EvalCall& call) {
  return map_floats(call, []<typename T>(T x) { return x / (T(1) + std::abs(x)); });
}
Result<void> eval_mish(EvalCall& call) {
  return map_floats(call, [](auto x) { return x * math::tanh(softplus(x)); });
}
Result<void> eval_swish(EvalCall& call) {
  const float alpha = call.node.get(attributes::Swish::alpha);
  return map_floats(call, [alpha]<typename T>(T x) { return x * sigmoid(T(alpha) * x); });
}
Result<void> eval_hard_sigmoid(EvalCall& call) {
  const float alpha = call.node.get(attributes::HardSigmoid::alpha);
  const float beta = call.node.get(attributes::HardSigmoid::beta);
  return map_floats(call, [=]<typename T>(T x) {
    const T y = T(alpha) * x + T(beta);
    return y < 0 ? T(0) : y > 1 ? T(1) : y;
  });
}
Result<void> eval_hard_swish(EvalCall& call) {
  return map_floats(call, []<typename T>(T x) {
    const T y = x / T(6) + T(0.5);
    return x * (y < 0 ? T(0) : y > 1 ? T(1) : y);
  });
}
Result<void> eval_elu(EvalCall& call) {
  const float alpha = call.node.get(attributes::Elu::alpha);
  return map_floats(
      call, [alpha]<typename T>(T x) { return x < 0 ? T(alpha) * (math::exp(x) - T(1)) : x; });
}
Result<void> eval_selu(EvalCall& call) {
  const float alpha = call.node.get(attributes::Selu::alpha);
  const float gamma = call.node.get(attributes::Selu::gamma);
  return map_floats(call, [=]<typename T>(T x) {
    return T(gamma) * (x > 0 ? x : T(alpha) * math::exp(x) - T(alpha));
  });
}
Result<void> eval_celu(EvalCall& call) {
  const float alpha = call.node.get(attributes::Celu::alpha);
  return map_floats(
      call, [alpha]<typename T>(T x) { return x < 0 ? T(alpha) * math::expm1(x / T(alpha)) : x; });
}
Result<void> eval_leaky_relu(EvalCall& call) {
  const float alpha = call.node.get(attributes::LeakyRelu::alpha);
  return map_floats(call, [alpha]<typename T>(T x) { return x < 0 ? T(alpha) * x : x; });
}
Result<void> eval_thresholded_relu(EvalCall& call) {
  const float alpha = call.node.get(attributes::ThresholdedRelu::alpha);
  return map_floats(call, [alpha]<typename T>(T x) { return x > T(alpha) ? x : T(0); });
}
Result<void> eval_shrink(EvalCall& call) {
  const float bias = call.node.get(attributes::Shrink::bias);
  const float lambda = call.node.get(attributes::Shrink::lambd);
  return map_numbers(call, [=]<typename T>(T x) -> T {
    const auto wide = static_cast<double>(x);
    if (wide < -lambda) return static_cast<T>(wide + bias);
    return wide > lambda ? static_cast<T>(wide - bias) : T(0);
  });
}
Result<void> eval_gelu(EvalCall& call) {
  if (call.node.get(attributes::Gelu::approximate) == "tanh") {
    return map_floats(call, []<typename T>(T x) {
      return T(0.5) * x *
             (T(1) + math::tanh(T(0.7978845608028654) * (x + T(0.044715) * x * x * x)));
    });
  }
  return map_floats(call, []<typename T>(T x) {
    return T(0.5) * x * (T(1) + math::erf(x * T(0.7071067811865476)));
  });
}

Result<void> eval_not(EvalCall& call) {
  const auto f = [](uint8_t v) { return static_cast<uint8_t>(v == 0); };
  return map_to_bool(call, {&f, unary_row<uint8_t, uint8_t, decltype(f)>, DType::kU8, DType::kU8});
}
Result<void> eval_bitwise_not(EvalCall& call) {
  const auto f = [](uint64_t v) { return ~v; };
  if (!dtype_is_integer(call.input(0).dtype)) return map(call, {});
  return map(call, {&f, unary_row<uint64_t, uint64_t, decltype(f)>, DType::kI64, DType::kI64});
}
Result<void> eval_is_nan(EvalCall& call) {
  return map_floats_to_bool(call, [](auto x) { return static_cast<uint8_t>(x != x); });
}
Result<void> eval_is_inf(EvalCall& call) {
  const bool positive = call.node.get(attributes::IsInf::detect_positive) != 0;
  const bool negative = call.node.get(attributes::IsInf::detect_negative) != 0;
  return map_floats_to_bool(call, [=](auto x) {
    return static_cast<uint8_t>(std::isinf(x) && (x > 0 ? positive : negative));
  });
}

Result<void> eval_clip(EvalCall& call) {
  const DType as = number_class(call.input(0).dtype);
  if (as == DType::kF32) return clip<float>(call, as);
  if (as == DType::kF64) return clip<double>(call, as);
  if (as == DType::kU64) return clip<uint64_t>(call, as);
  return as == DType::kI64 ? clip<int64_t>(call, as) : map(call, {});
}

Result<void> eval_identity(EvalCall& call) {
  if (call.operands.empty()) return call.bad_value("it has no input");
  call.set_value(0, value_of(call.operands[0]));
  return {};
}

}  // namespace sluice::eval
