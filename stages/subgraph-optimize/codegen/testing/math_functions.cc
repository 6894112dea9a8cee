#include "stages/subgraph-optimize/codegen/testing/math_functions.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/device/flush_denormals.h"
#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"

namespace sluice {
namespace {

using llvm::Value;

template <typename F>
F sigmoid(F x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

template <typename F>
F floor_modulus(F x, F y) {
  const F remainder = std::fmod(x, y);
  return remainder != 0 && (remainder < 0) != (y < 0) ? remainder + y : remainder;
}

template <typename F>
F larger(F x, F y) {
  return x > y || x != x ? x : y;
}

template <typename F>
F smaller(F x, F y) {
  return x < y || x != x ? x : y;
}

#define SLUICE_UNARY(name, expression, limit, low, high)                 \
  {#name,                                                                \
   1,                                                                    \
   [](MathEmitter& m, Value* x, Value*) { return m.name(x); },           \
   [](long double x, long double) -> long double { return expression; }, \
   [](double x, double) -> double { return expression; },                \
   limit,                                                                \
   low,                                                                  \
   high}
#define SLUICE_BINARY(name, expression, limit, low, high)                  \
  {#name,                                                                  \
   2,                                                                      \
   [](MathEmitter& m, Value* x, Value* y) { return m.name(x, y); },        \
   [](long double x, long double y) -> long double { return expression; }, \
   [](double x, double y) -> double { return expression; },                \
   limit,                                                                  \
   low,                                                                    \
   high}

std::vector<MathFunction> make_functions() {
  return {SLUICE_UNARY(exp, std::exp(x), 4, -110, 90),
          SLUICE_UNARY(expm1, std::expm1(x), 4, -20, 90),
          SLUICE_UNARY(log, std::log(x), 4, 0, 3),
          SLUICE_UNARY(log1p, std::log1p(x), 4, -1, 3),
          SLUICE_UNARY(sin, std::sin(x), 4, -30, 30),
          SLUICE_UNARY(cos, std::cos(x), 4, -30, 30),
          SLUICE_UNARY(tan, std::tan(x), 4, -30, 30),
          SLUICE_UNARY(asin, std::asin(x), 4, -1, 1),
          SLUICE_UNARY(acos, std::acos(x), 4, -1, 1),
          SLUICE_UNARY(atan, std::atan(x), 4, -4, 4),
          SLUICE_UNARY(sinh, std::sinh(x), 4, -90, 90),
          SLUICE_UNARY(cosh, std::cosh(x), 4, -90, 90),
          SLUICE_UNARY(tanh, std::tanh(x), 4, -10, 10),
          SLUICE_UNARY(asinh, std::asinh(x), 4, -10, 10),
          SLUICE_UNARY(acosh, std::acosh(x), 4, 1, 10),
          SLUICE_UNARY(atanh, std::atanh(x), 4, -1, 1),
          SLUICE_UNARY(erf, std::erf(x), 4, -6, 6),
          SLUICE_UNARY(sigmoid, sigmoid(x), 4, -110, 20),
          SLUICE_UNARY(sqrt, std::sqrt(x), 0.5, 0, 10),
          SLUICE_UNARY(reciprocal, 1 / x, 0.5, -10, 10),
          SLUICE_UNARY(floor, std::floor(x), 0, -10, 10),
          SLUICE_UNARY(ceil, std::ceil(x), 0, -10, 10),
          SLUICE_UNARY(round, std::nearbyint(x), 0, -10, 10),
          SLUICE_UNARY(abs, std::abs(x), 0, -10, 10),
          SLUICE_BINARY(pow, std::pow(x, y), 8, 0, 100),
          SLUICE_BINARY(remainder, std::fmod(x, y), 0, -100, 100),
          SLUICE_BINARY(floor_modulus, floor_modulus(x, y), 0.5, -100, 100),
          SLUICE_BINARY(maximum, larger(x, y), 0, -10, 10),
          SLUICE_BINARY(minimum, smaller(x, y), 0, -10, 10)};
}

#undef SLUICE_UNARY
#undef SLUICE_BINARY

llvm::Type* element_type(llvm::IRBuilder<>& ir, unsigned bits, bool is_float) {
  if (!is_float) return ir.getIntNTy(bits);
  return bits == 32 ? ir.getFloatTy() : ir.getDoubleTy();
}

template <typename T>
T flushed(T x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(T(0), x) : x;
}

template <typename T>
using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

template <typename T>
std::vector<T> special_numbers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> numbers = {0,
                            Limits::denorm_min(),
                            Limits::min() / 4,
                            Limits::min(),
                            T(1e-20),
                            T(0.5),
                            1 - Limits::epsilon() / 2,
                            1,
                            1 + Limits::epsilon(),
                            T(1.5),
                            2,
                            3,
                            T(2.5),
                            T(1e7) + 1,
                            T(1e20),
                            Limits::max(),
                            Limits::infinity(),
                            Limits::quiet_NaN()};
  const size_t count = numbers.size();
  for (size_t i = 0; i < count; ++i) numbers.push_back(-numbers[i]);
  return numbers;
}

// Returns the distance of the type's numbers around `value`.
template <typename T>
long double spacing(long double value) {
  using Limits = std::numeric_limits<T>;
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0L, std::max(exponent, Limits::min_exponent) - Limits::digits);
}

}  // namespace

const std::vector<MathFunction>& math_functions() {
  static const std::vector<MathFunction> functions = make_functions();
  return functions;
}

Result<RunnableKernel> make_array_kernel(const EmitElement& emit, const ArrayTypes& types,
                                         int lanes, int64_t count, const DeviceProfile& profile,
                                         MathPrecision precision, int repeats) {
  KernelBuilder b(profile);
  auto& ir = b.ir();
  b.begin_kernel("math");
  llvm::Type* from = element_type(ir, types.from_bits, types.from_float);
  llvm::Type* to = element_type(ir, types.to_bits, types.to_float);
  const auto vector_of = [&](llvm::Type* type) -> llvm::Type* {
    return lanes == 1 ? type : llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes));
  };
  const IrValues pointers = b.pointer_arguments(0, 3);
  const auto body = [&](Value* i) {
    const auto load = [&](Value* pointer) {
      return ir.CreateAlignedLoad(vector_of(from), ir.CreateInBoundsGEP(from, pointer, i),
                                  llvm::Align(types.from_bits / 8));
    };
    Value* x = load(pointers[1]);
    Value* y = load(pointers[2]);
    MathEmitter emitter(ir, profile, precision);
    Value* result = emit(emitter, x, y);
    ir.CreateAlignedStore(result, ir.CreateInBoundsGEP(to, pointers[0], i),
                          llvm::Align(types.to_bits / 8));
  };
  b.loop(b.index(0), b.index(repeats), 1,
         [&](Value*) { b.loop(b.index(0), b.index(count), lanes, body); });
  b.ret_void();
  SLUICE_ASSIGN(const GeneratedKernel kernel, b.finish("math"));
  auto runnable = RunnableKernel::load(kernel);
  if (!runnable || cpu_supports(profile.isa)) return runnable;
  return make_array_kernel(emit, types, lanes, count, every_cpu(), precision, repeats);
}

template <typename T>
std::vector<T> apply(const MathFunction& function, const std::vector<T>& x, const std::vector<T>& y,
                     const DeviceProfile& profile, MathPrecision precision, bool flushes) {
  constexpr size_t kChunk = 1024;
  constexpr unsigned kBits = sizeof(T) * 8;
  auto kernel =
      make_array_kernel(function.emit, {kBits, true, kBits, true},
                        profile.vector_bits / static_cast<int>(kBits), kChunk, profile, precision);
  if (!kernel) throw std::runtime_error(error_text(kernel.error()));
  const size_t padded = (x.size() + kChunk - 1) / kChunk * kChunk;
  std::vector<T> from = x, other = y, results(padded);
  from.resize(padded, 1);
  other.resize(padded, 1);
  const FlushDenormals mode(flushes);
  for (size_t i = 0; i < padded; i += kChunk)
    kernel->run({results.data() + i, from.data() + i, other.data() + i});
  results.resize(x.size());
  return results;
}

template <typename T>
void make_arguments(const MathFunction& function, int count, std::vector<T>& x, std::vector<T>& y) {
  std::mt19937_64 random(11);
  const Bits<T> step = std::numeric_limits<Bits<T>>::max() / static_cast<Bits<T>>(count) | 1;
  std::uniform_real_distribution<T> near(static_cast<T>(function.low),
                                         static_cast<T>(function.high));
  std::uniform_real_distribution<T> magnitude(-20, 20);
  for (int i = 0; i < count; ++i) {
    x.push_back(std::bit_cast<T>(static_cast<Bits<T>>(step * static_cast<Bits<T>>(i))));
    y.push_back(std::bit_cast<T>(static_cast<Bits<T>>(random())));
    x.push_back(near(random));
    // A power of moderate size, or a quotient of a few digits.
    y.push_back(function.name == "pow"
                    ? magnitude(random) * T(4) / std::max(std::abs(std::log(x.back())), T(1e-6))
                    : magnitude(random));
  }
  const std::vector<T> special = special_numbers<T>();
  for (const T a : special) {
    for (const T b : special) {
      x.push_back(a);
      y.push_back(b);
      if (function.arity == 1) break;
    }
  }
}

template <typename T>
std::vector<long double> references(const MathFunction& function, const std::vector<T>& x,
                                    const std::vector<T>& y, bool flushes) {
  std::vector<long double> results(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const T a = flushes ? flushed(x[i]) : x[i], b = flushes ? flushed(y[i]) : y[i];
    // The sum of a floor modulus is rounded once, to the type, and a denormal remainder of f64 is
    // flushed before it.
    if (function.name == "floor_modulus") {
      const bool is_lost = flushes && sizeof(T) == 8 && flushed(std::fmod(a, b)) == 0;
      results[i] = is_lost ? std::copysign(T(0), a) : floor_modulus(a, b);
    } else if (sizeof(T) == 4 && function.quick_reference) {
      results[i] = function.quick_reference(a, b);
    } else {
      results[i] = function.reference(a, b);
    }
  }
  return results;
}

template <typename T>
MathError measure(const std::vector<T>& results, const std::vector<long double>& expected,
                  bool flushes) {
  using Limits = std::numeric_limits<T>;
  MathError worst;
  for (size_t i = 0; i < results.size(); ++i) {
    const T result = flushes ? flushed(results[i]) : results[i];
    const long double exact = expected[i];
    const T nearest = flushes ? flushed(static_cast<T>(exact)) : static_cast<T>(exact);
    double ulp = 0;
    if (std::isnan(result) || std::isnan(nearest)) {
      ulp = std::isnan(result) && std::isnan(nearest) ? 0 : HUGE_VAL;
    } else if (result == nearest) {
      const bool is_flushed = flushes && std::fabs(exact) < Limits::min() && exact != 0;
      ulp = is_flushed || std::signbit(result) == std::signbit(nearest) ? 0 : HUGE_VAL;
    } else if (!(flushes && result == 0 && std::fabs(exact) < Limits::min())) {
      const long double top = std::ldexp(1.0L, Limits::max_exponent);
      const auto finite = [&](long double v) { return std::isinf(v) ? std::copysign(top, v) : v; };
      const long double error = std::fabs(finite(result) - finite(exact));
      ulp = static_cast<double>(error / spacing<T>(finite(nearest)));
      if (std::fabs(exact) >= Limits::min())
        worst.relative =
            std::max(worst.relative, static_cast<double>(error / std::fabs(finite(exact))));
    }
    if (ulp > worst.ulp) {
      worst.ulp = ulp;
      worst.at = i;
    }
  }
  return worst;
}

bool is_within(const MathFunction& function, const MathError& error, MathPrecision precision,
               bool is_single) {
  if (is_single && precision == MathPrecision::kHigh)
    return error.ulp <= std::min(function.limit, 1.0);
  if (is_single && precision == MathPrecision::kPerformance)
    return error.ulp <= function.limit || (error.relative <= 1e-6 && error.ulp <= 17);
  return error.ulp <= function.limit;
}

#define SLUICE_INSTANTIATE(T)                                                                      \
  template std::vector<T> apply(const MathFunction&, const std::vector<T>&, const std::vector<T>&, \
                                const DeviceProfile&, MathPrecision, bool);                        \
  template void make_arguments(const MathFunction&, int, std::vector<T>&, std::vector<T>&);        \
  template std::vector<long double> references(const MathFunction&, const std::vector<T>&,         \
                                               const std::vector<T>&, bool);                       \
  template MathError measure(const std::vector<T>&, const std::vector<long double>&, bool);
SLUICE_INSTANTIATE(float)
SLUICE_INSTANTIATE(double)
#undef SLUICE_INSTANTIATE

}  // namespace sluice
