// Elementwise ops of two and more inputs, with broadcasting.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "common/eval/broadcast.h"
#include "common/eval/dispatch.h"
#include "common/eval/elementwise.h"
#include "common/eval/kernels.h"
#include "common/eval/math64.h"
#include "common/eval/number.h"
#include "common/ops/attributes.h"

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
      const T remainder = std::fmod(a, b);
      return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
    } else {
      if (b == static_cast<T>(-1) && std::is_signed_v<T>) return 0;
      const T remainder = static_cast<T>(a % b);
      return remainder != 0 && (remainder < 0) != (b < 0) ? static_cast<T>(remainder + b)
                                                          : remainder;
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

struct Slope {
  template <typename T>
  T operator()(T x, T slope) const {
    return x < 0 ? Times()(slope, x) : x;
  }
};
struct FloatPower {
  template <typename T>
  T operator()(T a, T b) const {
    return b == T(2) ? a * a : math::pow(a, b);
  }
};

Result<Output> broadcast_output(EvalCall& call) {
  SLUICE_ASSIGN(auto dims, broadcast_dims(call, 0, 2));
  return call.output_like(0, 0, std::move(dims));
}

Result<void> same_types(const EvalCall& call) {
  for (size_t i = 1; i < call.input_count(); ++i) {
    if (call.input(i).logical == call.input(0).logical) continue;
    return call.bad_value("inputs have types {} and {}", dtype_name(call.input(0).logical),
                          dtype_name(call.input(i).logical));
  }
  return {};
}

// Returns the kernel for each class of numbers, without a row where there is none.
template <typename F>
BinaryKernel number_kernel(DType dtype, const F& f) {
  const DType as = number_class(dtype);
  if (as == DType::kF32) return {&f, binary_row<float, float, float, F>, as, as, as};
  if (as == DType::kF64) return {&f, binary_row<double, double, double, F>, as, as, as};
  if (as == DType::kI64) return {&f, binary_row<int64_t, int64_t, int64_t, F>, as, as, as};
  if (as == DType::kU64) return {&f, binary_row<uint64_t, uint64_t, uint64_t, F>, as, as, as};
  return {};
}

// Returns the same where the integers' signs do not matter.
template <typename F>
BinaryKernel modular_kernel(DType dtype, const F& f) {
  const DType as = number_class(dtype);
  if (as == DType::kF32) return {&f, binary_row<float, float, float, F>, as, as, as};
  if (as == DType::kF64) return {&f, binary_row<double, double, double, F>, as, as, as};
  if (as != DType::kUndefined) return {&f, binary_row<uint64_t, uint64_t, uint64_t, F>, as, as, as};
  return {};
}

// Returns kernels for floats only.
template <typename F>
BinaryKernel float_kernel(DType dtype, const F& f) {
  if (dtype == DType::kF32) return {&f, binary_row<float, float, float, F>, dtype, dtype, dtype};
  if (dtype == DType::kF64) return {&f, binary_row<double, double, double, F>, dtype, dtype, dtype};
  return {};
}

Result<void> arithmetic(EvalCall& call, const BinaryKernel& kernel) {
  SLUICE_TRY(same_types(call));
  SLUICE_ASSIGN(const Output y, broadcast_output(call));
  if (kernel.row == nullptr) return call.unsupported(y.dtype);
  apply_binary(call.input(0), call.input(1), y, kernel);
  return {};
}

bool has_zero(const Input& x) {
  constexpr int64_t kPiece = 512;
  std::array<int64_t, kPiece> piece;
  for (int64_t first = 0; first < x.count; first += kPiece) {
    const int64_t n = std::min(kPiece, x.count - first);
    load_ints(x.dtype, x.data, first, n, piece.data());
    if (std::find(piece.begin(), piece.begin() + n, 0) != piece.begin() + n) return true;
  }
  return false;
}

Result<void> check_divisors(const EvalCall& call) {
  const Input& b = call.input(1);
  if (b.dtype == DType::kF32 || b.dtype == DType::kF64) return {};
  if (number_class(b.dtype) == DType::kUndefined) return call.unsupported(b.dtype);
  if (has_zero(b)) return call.bad_value("an integer is divided by zero");
  return {};
}

template <typename F>
BinaryKernel comparison_kernel(DType dtype, const F& f) {
  const DType as = number_class(dtype == DType::kBool ? DType::kU8 : dtype);
  if (as == DType::kF32) return {&f, binary_row<float, float, uint8_t, F>, as, as, DType::kU8};
  if (as == DType::kF64) return {&f, binary_row<double, double, uint8_t, F>, as, as, DType::kU8};
  if (as == DType::kI64) return {&f, binary_row<int64_t, int64_t, uint8_t, F>, as, as, DType::kU8};
  if (as == DType::kU64)
    return {&f, binary_row<uint64_t, uint64_t, uint8_t, F>, as, as, DType::kU8};
  return {};
}

// Compares. a > b is b < a: the operands are in the order `left`, 1 - left.
Result<void> compare(EvalCall& call, size_t left, const BinaryKernel& kernel) {
  SLUICE_TRY(same_types(call));
  SLUICE_ASSIGN(auto dims, broadcast_dims(call, 0, 2));
  SLUICE_ASSIGN(const Output y, call.output(0, DType::kBool, std::move(dims)));
  if (kernel.row == nullptr) return call.unsupported(call.input(0).dtype);
  apply_binary(call.input(left), call.input(1 - left), y, kernel);
  return {};
}

Result<void> less(EvalCall& call, size_t left) {
  return compare(call, left, comparison_kernel(call.input(0).dtype, [](auto a, auto b) {
                   return static_cast<uint8_t>(a < b);
                 }));
}
Result<void> less_or_equal(EvalCall& call, size_t left) {
  return compare(call, left, comparison_kernel(call.input(0).dtype, [](auto a, auto b) {
                   return static_cast<uint8_t>(a <= b);
                 }));
}

Result<void> logical(EvalCall& call, const BinaryKernel& kernel) {
  SLUICE_ASSIGN(auto dims, broadcast_dims(call, 0, 2));
  SLUICE_ASSIGN(const Output y, call.output(0, DType::kBool, std::move(dims)));
  apply_binary(call.input(0), call.input(1), y, kernel);
  return {};
}

template <typename F>
BinaryKernel logical_kernel(const F& f) {
  return {&f, binary_row<uint8_t, uint8_t, uint8_t, F>, DType::kU8, DType::kU8, DType::kU8};
}

// Applies f to u64; narrower elements are sign-extended.
template <typename F>
BinaryKernel bitwise_kernel(const F& f) {
  return {&f, binary_row<uint64_t, uint64_t, uint64_t, F>, DType::kI64, DType::kI64, DType::kI64};
}

Result<void> bitwise(EvalCall& call, const BinaryKernel& kernel) {
  SLUICE_TRY(same_types(call));
  SLUICE_ASSIGN(const Output y, broadcast_output(call));
  if (!dtype_is_integer(y.dtype)) return call.unsupported(y.dtype);
  apply_binary(call.input(0), call.input(1), y, kernel);
  return {};
}

template <typename F>
UnaryKernel unary_kernel(DType dtype, const F& f) {
  const DType as = number_class(dtype);
  if (as == DType::kF32) return {&f, unary_row<float, float, F>, as, as};
  if (as == DType::kF64) return {&f, unary_row<double, double, F>, as, as};
  if (as == DType::kU64) return {&f, unary_row<uint64_t, uint64_t, F>, as, as};
  return {&f, unary_row<int64_t, int64_t, F>, as, as};
}

// A copy of y's elements as an input.
class Copy {
 public:
  explicit Copy(const Output& y) : tensor_(make_tensor(y.dtype, y.dims)) {
    if (y.count > 0) std::memcpy(tensor_.bytes.data(), y.data, tensor_.bytes.size());
    input_ = {y.dtype, y.dtype, tensor_.dims, tensor_.bytes.data(), y.count, nullptr};
  }
  const Input& input() const { return input_; }

 private:
  Tensor tensor_;
  Input input_;
};

// Computes y = f(f(x0, x1), x2) ...
Result<Output> fold_inputs(EvalCall& call, const BinaryKernel& kernel) {
  SLUICE_TRY(same_types(call));
  SLUICE_ASSIGN(auto dims, broadcast_dims(call, 0, call.input_count()));
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, dims));
  if (kernel.row == nullptr) return call.unsupported(y.dtype);
  if (call.input_count() == 1) {
    if (y.count > 0)
      std::memcpy(y.data, call.input(0).data, dtype_bytes(y.dtype, static_cast<uint64_t>(y.count)));
    return y;
  }
  apply_binary(call.input(0), call.input(1), y, kernel);
  for (size_t i = 2; i < call.input_count(); ++i)
    apply_binary(Copy(y).input(), call.input(i), y, kernel);
  return y;
}

int64_t integer_power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (; exponent > 0; exponent /= 2, base = Times()(base, base)) {
    if (exponent % 2 == 1) result = Times()(result, base);
  }
  return result;
}

int64_t power(int64_t base, double exponent, bool is_unsigned) {
  const bool integral = exponent == std::nearbyint(exponent) && exponent >= 0 && exponent < 9e15;
  if (integral) return integer_power(base, static_cast<int64_t>(exponent));
  const double result = math::pow(
      is_unsigned ? static_cast<double>(static_cast<uint64_t>(base)) : static_cast<double>(base),
      exponent);
  int64_t truncated = 0;
  convert(DType::kF64, reinterpret_cast<const std::byte*>(&result), DType::kI64,
          reinterpret_cast<std::byte*>(&truncated), 1);
  return truncated;
}

using WhereRow = void (*)(const RowPlan& plan, const uint8_t* condition, const void* yes,
                          const void* no, void* y);

template <typename T>
void where(const RowPlan& plan, const uint8_t* condition, const void* yes, const void* no,
           void* y) {
  const int64_t stride = plan.stride(0), stride_yes = plan.stride(1), stride_no = plan.stride(2);
  const T* __restrict if_true = static_cast<const T*>(yes);
  const T* __restrict if_false = static_cast<const T*>(no);
  T* __restrict to = static_cast<T*>(y);
  for (int64_t i = 0; i < plan.row(); ++i)
    to[i] = condition[i * stride] != 0 ? if_true[i * stride_yes] : if_false[i * stride_no];
}

WhereRow where_row(int bits) {
  if (bits == 8) return where<uint8_t>;
  if (bits == 16) return where<uint16_t>;
  if (bits == 32) return where<uint32_t>;
  if (bits == 64) return where<uint64_t>;
  return bits == 128 ? where<Bytes16> : nullptr;
}

}  // namespace

Result<void> eval_add(EvalCall& call) {
  return arithmetic(call, modular_kernel(call.input(0).dtype, Plus()));
}
Result<void> eval_sub(EvalCall& call) {
  return arithmetic(call, modular_kernel(call.input(0).dtype, Minus()));
}
Result<void> eval_mul(EvalCall& call) {
  return arithmetic(call, modular_kernel(call.input(0).dtype, Times()));
}
Result<void> eval_div(EvalCall& call) {
  SLUICE_TRY(check_divisors(call));
  return arithmetic(call, number_kernel(call.input(0).dtype, Quotient()));
}
Result<void> eval_mod(EvalCall& call) {
  SLUICE_TRY(check_divisors(call));
  if (call.node.get(attributes::Mod::fmod) != 0)
    return arithmetic(call, number_kernel(call.input(0).dtype, Remainder()));
  return arithmetic(call, number_kernel(call.input(0).dtype, FloorModulus()));
}

Result<void> eval_pow(EvalCall& call) {
  SLUICE_ASSIGN(const Output y, broadcast_output(call));
  const Input& x = call.input(0);
  const Input& exponent = call.input(1);
  const DType as = number_class(x.dtype);
  if (as == DType::kUndefined) return call.unsupported(x.dtype);
  const bool is_float = as == DType::kF32 || as == DType::kF64;
  Tensor converted =
      make_tensor(is_float ? as : DType::kF64, {exponent.dims.begin(), exponent.dims.end()});
  convert(exponent.dtype, exponent.data, converted.dtype, converted.bytes.data(), exponent.count);
  const Input power_of{converted.dtype,        converted.dtype, converted.dims,
                       converted.bytes.data(), exponent.count,  nullptr};
  const FloatPower float_power;
  if (as == DType::kF32)
    apply_binary(x, power_of, y,
                 {&float_power, binary_row<float, float, float, FloatPower>, as, as, as});
  if (as == DType::kF64)
    apply_binary(x, power_of, y,
                 {&float_power, binary_row<double, double, double, FloatPower>, as, as, as});
  if (is_float) return {};
  const auto f = [is_unsigned = as == DType::kU64](int64_t a, double b) {
    return power(a, b, is_unsigned);
  };
  apply_binary(x, power_of, y,
               {&f, binary_row<int64_t, double, int64_t, decltype(f)>, as, DType::kF64, as});
  return {};
}

Result<void> eval_sum(EvalCall& call) {
  SLUICE_TRY(fold_inputs(call, modular_kernel(call.input(0).dtype, Plus())));
  return {};
}
Result<void> eval_max(EvalCall& call) {
  SLUICE_TRY(fold_inputs(call, number_kernel(call.input(0).dtype, Larger())));
  return {};
}
Result<void> eval_min(EvalCall& call) {
  SLUICE_TRY(fold_inputs(call, number_kernel(call.input(0).dtype, Smaller())));
  return {};
}
Result<void> eval_mean(EvalCall& call) {
  SLUICE_ASSIGN(const Output y, fold_inputs(call, modular_kernel(call.input(0).dtype, Plus())));
  const size_t count = call.input_count();
  apply_unary(Copy(y).input(), y, unary_kernel(y.dtype, [count]<typename T>(T sum) {
                return Quotient()(sum, static_cast<T>(count));
              }));
  return {};
}

Result<void> eval_equal(EvalCall& call) {
  return compare(call, 0, comparison_kernel(call.input(0).dtype, [](auto a, auto b) {
                   return static_cast<uint8_t>(a == b);
                 }));
}
Result<void> eval_less(EvalCall& call) { return less(call, 0); }
Result<void> eval_less_or_equal(EvalCall& call) { return less_or_equal(call, 0); }
Result<void> eval_greater(EvalCall& call) { return less(call, 1); }
Result<void> eval_greater_or_equal(EvalCall& call) { return less_or_equal(call, 1); }
Result<void> eval_and(EvalCall& call) {
  return logical(call, logical_kernel([](uint8_t a, uint8_t b) {
                   return static_cast<uint8_t>(a != 0 && b != 0);
                 }));
}
Result<void> eval_or(EvalCall& call) {
  return logical(call, logical_kernel([](uint8_t a, uint8_t b) {
                   return static_cast<uint8_t>(a != 0 || b != 0);
                 }));
}
Result<void> eval_xor(EvalCall& call) {
  return logical(call, logical_kernel([](uint8_t a, uint8_t b) {
                   return static_cast<uint8_t>((a != 0) != (b != 0));
                 }));
}
Result<void> eval_bitwise_and(EvalCall& call) {
  return bitwise(call, bitwise_kernel([](uint64_t a, uint64_t b) { return a & b; }));
}
Result<void> eval_bitwise_or(EvalCall& call) {
  return bitwise(call, bitwise_kernel([](uint64_t a, uint64_t b) { return a | b; }));
}
Result<void> eval_bitwise_xor(EvalCall& call) {
  return bitwise(call, bitwise_kernel([](uint64_t a, uint64_t b) { return a ^ b; }));
}
Result<void> eval_bit_shift(EvalCall& call) {
  const std::string direction = call.node.get(attributes::BitShift::direction);
  if (direction != "LEFT" && direction != "RIGHT")
    return call.bad_value("direction is '{}', not LEFT or RIGHT", direction);
  const bool left = direction == "LEFT";
  const auto bits = static_cast<uint64_t>(dtype_bits(call.input(0).dtype));
  return bitwise(call, bitwise_kernel([left, bits](uint64_t a, uint64_t amount) -> uint64_t {
                   if (amount >= bits) return 0;
                   return left ? a << amount : a >> amount;
                 }));
}

Result<void> eval_prelu(EvalCall& call) {
  if (!broadcasts_to(call.input(1).dims, call.input(0).dims))
    return call.bad_shape("slope {} cannot be broadcast to {}", dims_text(call.input(1).dims),
                          dims_text(call.input(0).dims));
  return arithmetic(call, number_kernel(call.input(0).dtype, Slope()));
}

// Computes Swish(a) b.
Result<void> eval_swiglu(EvalCall& call) {
  if (!std::ranges::equal(call.input(0).dims, call.input(1).dims))
    return call.bad_shape("{} and {} differ", dims_text(call.input(0).dims),
                          dims_text(call.input(1).dims));
  const float alpha = call.node.get(attributes::SwiGLU::alpha);
  return arithmetic(call, float_kernel(call.input(0).dtype, [alpha]<typename T>(T gate, T x) {
                      return gate * (T(1) / (T(1) + math::exp(-(T(alpha) * gate)))) * x;
                    }));
}

Result<void> eval_where(EvalCall& call) {
  if (call.input(1).logical != call.input(2).logical)
    return call.bad_value("the branches have different types");
  SLUICE_ASSIGN(auto dims, broadcast_dims(call, 0, 3));
  SLUICE_ASSIGN(const Output y, call.output_like(0, 1, std::move(dims)));
  const auto plan = make_row_plan(y.dims, {broadcast_strides(call.input(0).dims, y.dims),
                                           broadcast_strides(call.input(1).dims, y.dims),
                                           broadcast_strides(call.input(2).dims, y.dims)});
  const WhereRow row = where_row(dtype_bits(y.dtype));
  if (row == nullptr) return call.unsupported(y.dtype);
  const auto width = dtype_bits(y.dtype) / 8;
  for_each_row(plan, [&](int64_t out, const int64_t* at) {
    row(plan, call.input(0).as<uint8_t>() + at[0], call.input(1).data + at[1] * width,
        call.input(2).data + at[2] * width, y.data + out * width);
  });
  return {};
}

}  // namespace sluice::eval
