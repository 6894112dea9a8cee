// Elementwise ops of two and more inputs, with broadcasting.
#include <cmath>
#include <cstring>

#include "common/eval/broadcast.h"
#include "common/eval/dispatch.h"
#include "common/eval/kernels.h"
#include "common/eval/math64.h"
#include "common/eval/number.h"

namespace sluice::eval {
namespace {

// Integer arithmetic is modulo 2^bits.
struct Plus {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) return a + b;
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
};
struct Minus {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) return a - b;
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  }
};
struct Times {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) return a * b;
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
};
struct Quotient {  // truncates
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_signed_v<T> && !std::is_floating_point_v<T>) {
      if (b == -1) return Minus()(T(0), a);
    }
    return a / b;
  }
};
struct FloorModulus {  // the sign of the divisor
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      const T rest = std::fmod(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    } else {
      if (b == static_cast<T>(-1) && std::is_signed_v<T>) return 0;
      const T rest = static_cast<T>(a % b);
      return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    }
  }
};
struct Remainder {  // the sign of the dividend
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(a, b);
    } else {
      return b == static_cast<T>(-1) && std::is_signed_v<T> ? T(0) : static_cast<T>(a % b);
    }
  }
};
struct Larger {  // NaN wins
  template <typename T>
  T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};
struct Smaller {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};

Result<Output> broadcast_output(EvalCall& call) {
  SLUICE_ASSIGN(auto dims, broadcast_dims(call, 0, 2));
  return call.output_like(0, 0, std::move(dims));
}

Result<void> same_types(const EvalCall& call) {
  for (size_t i = 1; i < call.input_count(); ++i) {
    if (call.input(i).logical == call.input(0).logical) continue;
    return call.bad_value("inputs have types {} and {}", dtype_name(call.input(0).logical), dtype_name(call.input(i).logical));
  }
  return {};
}

template <typename F>
Result<void> arithmetic(EvalCall& call, F f) {
  SLUICE_TRY(same_types(call));
  SLUICE_ASSIGN(const Output y, broadcast_output(call));
  return visit_number(call, y.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    apply_binary<T, T, T>(call.input(0), call.input(1), y, f);
    return {};
  });
}

Result<void> check_divisors(const EvalCall& call) {
  const Input& b = call.input(1);
  if (b.dtype == DType::kF32 || b.dtype == DType::kF64) return {};
  return visit_integer(call, b.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    if (std::find(b.as<T>(), b.as<T>() + b.count, T(0)) == b.as<T>() + b.count) return {};
    return call.bad_value("an integer is divided by zero");
  });
}

template <typename F>
Result<void> compare(EvalCall& call, F f) {
  SLUICE_TRY(same_types(call));
  SLUICE_ASSIGN(auto dims, broadcast_dims(call, 0, 2));
  SLUICE_ASSIGN(const Output y, call.output(0, DType::kBool, std::move(dims)));
  const DType dtype = call.input(0).dtype == DType::kBool ? DType::kU8 : call.input(0).dtype;
  return visit_number(call, dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    apply_binary<T, T, uint8_t>(call.input(0), call.input(1), y, [f](T a, T b) { return static_cast<uint8_t>(f(a, b)); });
    return {};
  });
}

template <typename F>
Result<void> logical(EvalCall& call, F f) {
  SLUICE_ASSIGN(auto dims, broadcast_dims(call, 0, 2));
  SLUICE_ASSIGN(const Output y, call.output(0, DType::kBool, std::move(dims)));
  apply_binary<uint8_t, uint8_t, uint8_t>(call.input(0), call.input(1), y,
                                          [f](uint8_t a, uint8_t b) { return static_cast<uint8_t>(f(a != 0, b != 0)); });
  return {};
}

template <typename F>
Result<void> bitwise(EvalCall& call, F f) {
  SLUICE_TRY(same_types(call));
  SLUICE_ASSIGN(const Output y, broadcast_output(call));
  return visit_integer(call, y.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    apply_binary<T, T, T>(call.input(0), call.input(1), y, [f](T a, T b) { return static_cast<T>(f(a, b)); });
    return {};
  });
}

// y = f(f(x0, x1), x2) ...
template <typename F>
Result<void> fold_inputs(EvalCall& call, F f, bool mean = false) {
  SLUICE_TRY(same_types(call));
  SLUICE_ASSIGN(auto dims, broadcast_dims(call, 0, call.input_count()));
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, dims));
  return visit_number(call, y.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    Tensor zero = make_tensor(y.dtype, {});
    const Input nothing{y.dtype, y.dtype, zero.dims, zero.bytes.data(), 1, nullptr};
    apply_binary<T, T, T>(call.input(0), nothing, y, [](T a, T) { return a; });
    for (size_t i = 1; i < call.input_count(); ++i) {
      Tensor copy = make_tensor(y.dtype, y.dims);
      if (y.count > 0) std::memcpy(copy.bytes.data(), y.data, copy.bytes.size());
      const Input left{y.dtype, y.dtype, copy.dims, copy.bytes.data(), y.count, nullptr};
      apply_binary<T, T, T>(left, call.input(i), y, f);
    }
    if (!mean) return {};
    const T count = static_cast<T>(call.input_count());
    for (int64_t i = 0; i < y.count; ++i) y.as<T>()[i] = static_cast<T>(y.as<T>()[i] / count);
    return {};
  });
}

template <typename T>
T integer_power(T base, int64_t exponent) {
  T result = 1;
  for (; exponent > 0; exponent /= 2, base = Times()(base, base)) {
    if (exponent % 2 == 1) result = Times()(result, base);
  }
  return result;
}

template <typename T>
T power(T base, double exponent) {
  const bool integral = exponent == std::nearbyint(exponent) && exponent >= 0 && exponent < 9e15;
  if (integral) return integer_power(base, static_cast<int64_t>(exponent));
  const double result = math::pow(static_cast<double>(base), exponent);
  int64_t truncated = 0;
  convert(DType::kF64, reinterpret_cast<const std::byte*>(&result), DType::kI64, reinterpret_cast<std::byte*>(&truncated), 1);
  return static_cast<T>(truncated);
}

}  // namespace

Result<void> eval_add(EvalCall& call) { return arithmetic(call, Plus()); }
Result<void> eval_sub(EvalCall& call) { return arithmetic(call, Minus()); }
Result<void> eval_mul(EvalCall& call) { return arithmetic(call, Times()); }
Result<void> eval_div(EvalCall& call) {
  SLUICE_TRY(check_divisors(call));
  return arithmetic(call, Quotient());
}
Result<void> eval_mod(EvalCall& call) {
  SLUICE_TRY(check_divisors(call));
  if (call.node.int_attribute("fmod", 0) != 0) return arithmetic(call, Remainder());
  return arithmetic(call, FloorModulus());
}

Result<void> eval_pow(EvalCall& call) {
  SLUICE_ASSIGN(const Output y, broadcast_output(call));
  const Input& x = call.input(0);
  const Input& exponent = call.input(1);
  const bool is_float = x.dtype == DType::kF32 || x.dtype == DType::kF64;
  Tensor converted = make_tensor(is_float ? x.dtype : DType::kF64, {exponent.dims.begin(), exponent.dims.end()});
  convert(exponent.dtype, exponent.data, converted.dtype, converted.bytes.data(), exponent.count);
  const Input power_of{converted.dtype, converted.dtype, converted.dims, converted.bytes.data(), exponent.count, nullptr};
  return visit_number(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    if constexpr (std::is_floating_point_v<T>) {
      apply_binary<T, T, T>(x, power_of, y, [](T a, T b) { return b == T(2) ? a * a : math::pow(a, b); });
    } else {
      apply_binary<T, double, T>(x, power_of, y, [](T a, double b) { return power(a, b); });
    }
    return {};
  });
}

Result<void> eval_sum(EvalCall& call) { return fold_inputs(call, Plus()); }
Result<void> eval_mean(EvalCall& call) { return fold_inputs(call, Plus(), true); }
Result<void> eval_max(EvalCall& call) { return fold_inputs(call, Larger()); }
Result<void> eval_min(EvalCall& call) { return fold_inputs(call, Smaller()); }

Result<void> eval_equal(EvalCall& call) {
  return compare(call, [](auto a, auto b) { return a == b; });
}
Result<void> eval_greater(EvalCall& call) {
  return compare(call, [](auto a, auto b) { return a > b; });
}
Result<void> eval_greater_or_equal(EvalCall& call) {
  return compare(call, [](auto a, auto b) { return a >= b; });
}
Result<void> eval_less(EvalCall& call) {
  return compare(call, [](auto a, auto b) { return a < b; });
}
Result<void> eval_less_or_equal(EvalCall& call) {
  return compare(call, [](auto a, auto b) { return a <= b; });
}
Result<void> eval_and(EvalCall& call) {
  return logical(call, [](bool a, bool b) { return a && b; });
}
Result<void> eval_or(EvalCall& call) {
  return logical(call, [](bool a, bool b) { return a || b; });
}
Result<void> eval_xor(EvalCall& call) {
  return logical(call, [](bool a, bool b) { return a != b; });
}
Result<void> eval_bitwise_and(EvalCall& call) {
  return bitwise(call, [](auto a, auto b) { return a & b; });
}
Result<void> eval_bitwise_or(EvalCall& call) {
  return bitwise(call, [](auto a, auto b) { return a | b; });
}
Result<void> eval_bitwise_xor(EvalCall& call) {
  return bitwise(call, [](auto a, auto b) { return a ^ b; });
}
Result<void> eval_bit_shift(EvalCall& call) {
  const std::string direction = call.node.string_attribute("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") return call.bad_value("direction is '{}', not LEFT or RIGHT", direction);
  const bool left = direction == "LEFT";
  return bitwise(call, [left]<typename T>(T a, T b) -> T {
    const auto amount = static_cast<uint64_t>(b);
    if (amount >= sizeof(T) * 8) return 0;
    return static_cast<T>(left ? static_cast<uint64_t>(a) << amount : static_cast<uint64_t>(a) >> amount);
  });
}

Result<void> eval_prelu(EvalCall& call) {
  if (!broadcasts_to(call.input(1).dims, call.input(0).dims))
    return call.bad_shape("slope {} cannot be broadcast to {}", dims_text(call.input(1).dims), dims_text(call.input(0).dims));
  return arithmetic(call, []<typename T>(T x, T slope) -> T { return x < 0 ? Times()(slope, x) : x; });
}

Result<void> eval_where(EvalCall& call) {
  if (call.input(1).logical != call.input(2).logical) return call.bad_value("the branches have different types");
  SLUICE_ASSIGN(auto dims, broadcast_dims(call, 0, 3));
  SLUICE_ASSIGN(const Output y, call.output_like(0, 1, std::move(dims)));
  const auto plan = make_row_plan<3>(y.dims, {broadcast_strides(call.input(0).dims, y.dims), broadcast_strides(call.input(1).dims, y.dims),
                                              broadcast_strides(call.input(2).dims, y.dims)});
  return visit_width(call, y.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    for_each_row(plan, [&](int64_t out, const std::array<int64_t, 3>& at) {
      const uint8_t* condition = call.input(0).as<uint8_t>() + at[0];
      const T* yes = call.input(1).as<T>() + at[1];
      const T* no = call.input(2).as<T>() + at[2];
      for (int64_t i = 0; i < plan.row(); ++i) {
        y.as<T>()[out + i] = condition[i * plan.stride(0)] != 0 ? yes[i * plan.stride(1)] : no[i * plan.stride(2)];
      }
    });
    return {};
  });
}

}  // namespace sluice::eval
