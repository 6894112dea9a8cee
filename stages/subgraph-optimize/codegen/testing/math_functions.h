// Runs the functions of math.h for tests and measurements: kernels that apply one function to
// arrays, and how far their results are from references of higher precision.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "stages/subgraph-optimize/codegen/emit/math.h"
#include "stages/subgraph-optimize/codegen/testing/kernels.h"

namespace sluice {

// One function: how it is emitted and what it is, in more precision than it is tested in.
struct MathFunction {
  std::string name;
  int arity = 1;
  std::function<llvm::Value*(MathEmitter&, llvm::Value* x, llvm::Value* y)> emit;
  long double (*reference)(long double x, long double y) = nullptr;
  double (*quick_reference)(double x, double y) = nullptr;  // for f32
  double limit = 4;                                         // ULP, default precision and f64
  // Where random arguments are drawn beside all bit patterns.
  double low = -100, high = 100;
};

const std::vector<MathFunction>& math_functions();

// Emits to[i] = f(x[i], y[i]) for vectors of `lanes` lanes (1: scalars) over `count` elements, a
// multiple of the lanes, all of it `repeats` times. Where this CPU cannot run the profile,
// the kernel is generated, and that of every_cpu() is returned.
using EmitElement = std::function<llvm::Value*(MathEmitter&, llvm::Value* x, llvm::Value* y)>;
struct ArrayTypes {
  unsigned from_bits;
  bool from_float;
  unsigned to_bits;
  bool to_float;
};
Result<RunnableKernel> make_array_kernel(const EmitElement& emit, const ArrayTypes& types,
                                         int lanes, int64_t count, const DeviceProfile& profile,
                                         MathPrecision precision, int repeats = 1);

// Applies a function to all elements of x and y (arity 2), in chunks through one kernel.
template <typename T>
std::vector<T> apply(const MathFunction& function, const std::vector<T>& x, const std::vector<T>& y,
                     const DeviceProfile& profile, MathPrecision precision, bool flushes);

// Arguments of all magnitudes: every bit pattern that is a multiple of a step, `count` in all, and
// as many numbers from low to high; then zeros, ones, infinities and NaN. For arity 2 also pairs
// of special numbers, and arguments that suit powers and remainders.
template <typename T>
void make_arguments(const MathFunction& function, int count, std::vector<T>& x, std::vector<T>& y);

template <typename T>
std::vector<long double> references(const MathFunction& function, const std::vector<T>& x,
                                    const std::vector<T>& y, bool flushes);

struct MathError {
  double ulp = 0;       // the largest
  double relative = 0;  // the largest, of normal results
  size_t at = 0;        // of the largest ulp
};

// Infinity counts as the first power of two that the type does not have. A NaN on one side only is
// an infinite error; so is a zero of the wrong sign. With `flushes`, zero is right for denormals.
template <typename T>
MathError measure(const std::vector<T>& results, const std::vector<long double>& expected,
                  bool flushes);

// Returns whether an error is within what math.h says.
bool is_within(const MathFunction& function, const MathError& error, MathPrecision precision,
               bool is_single);

}  // namespace sluice
