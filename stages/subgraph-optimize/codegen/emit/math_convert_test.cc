// Conversions against those of the reference evaluation.
#include <bit>
#include <cmath>
#include <limits>

#include "common/eval/number.h"
#include "runtime/device/flush_denormals.h"
#include "stages/subgraph-optimize/codegen/testing/kernel_test.h"
#include "stages/subgraph-optimize/codegen/testing/math_functions.h"

namespace sluice {
namespace {

constexpr int kLanes = 16;

class MathConvertTest : public KernelTest {
 protected:
  template <typename To, typename From>
  std::vector<To> convert(const EmitElement& emit, std::vector<From> from, bool flushes) {
    constexpr unsigned kFromBits = sizeof(From) * 8, kToBits = sizeof(To) * 8;
    const size_t count = from.size();
    from.resize((count + kLanes - 1) / kLanes * kLanes);
    std::vector<To> to(from.size());
    auto kernel = make_array_kernel(
        emit, {kFromBits, std::is_floating_point_v<From>, kToBits, std::is_floating_point_v<To>},
        kLanes, static_cast<int64_t>(from.size()), profile_, MathPrecision::kDefault);
    EXPECT_TRUE(kernel.ok()) << error_text(kernel.error());
    const FlushDenormals mode(flushes);
    kernel->run({to.data(), from.data(), from.data()});
    to.resize(count);
    return to;
  }

  template <typename To, typename From>
  void expect_as_eval(DType from_type, DType to_type, bool is_signed,
                      const std::vector<From>& from) {
    const EmitElement emit = [&](MathEmitter& m, llvm::Value* x, llvm::Value*) {
      return m.float_to_int(x, llvm::IntegerType::get(x->getContext(), sizeof(To) * 8), is_signed);
    };
    std::vector<To> expected(from.size());
    eval::convert(from_type, reinterpret_cast<const std::byte*>(from.data()), to_type,
                  reinterpret_cast<std::byte*>(expected.data()), static_cast<int64_t>(from.size()));
    const auto results = convert<To>(emit, from, false);
    for (size_t i = 0; i < from.size(); ++i)
      EXPECT_EQ(+results[i], +expected[i]) << dtype_name(to_type) << " of " << from[i];
  }

  template <typename From>
  void expect_integers_as_eval(DType from_type, const std::vector<From>& from) {
    expect_as_eval<int8_t>(from_type, DType::kI8, true, from);
    expect_as_eval<uint8_t>(from_type, DType::kU8, false, from);
    expect_as_eval<int16_t>(from_type, DType::kI16, true, from);
    expect_as_eval<uint16_t>(from_type, DType::kU16, false, from);
    expect_as_eval<int32_t>(from_type, DType::kI32, true, from);
    expect_as_eval<uint32_t>(from_type, DType::kU32, false, from);
    expect_as_eval<int64_t>(from_type, DType::kI64, true, from);
    expect_as_eval<uint64_t>(from_type, DType::kU64, false, from);
  }
};

// Returns numbers around all powers of two, and all exponents.
template <typename T>
std::vector<T> numbers_to_truncate() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> numbers = {0, Limits::infinity(), Limits::quiet_NaN(), Limits::denorm_min()};
  for (int exponent = Limits::min_exponent; exponent < Limits::max_exponent; ++exponent) {
    const T power = std::ldexp(T(1), exponent);
    numbers.insert(numbers.end(), {power, std::nextafter(power, T(0)), power + T(0.5), power + 1,
                                   power * T(1.2345678), power * T(1.9999)});
  }
  const size_t count = numbers.size();
  for (size_t i = 0; i < count; ++i) numbers.push_back(-numbers[i]);
  return numbers;
}

TEST_P(MathConvertTest, FloatsBecomeIntegersAsInTheEvaluation) {
  expect_integers_as_eval(DType::kF32, numbers_to_truncate<float>());
  expect_integers_as_eval(DType::kF64, numbers_to_truncate<double>());
}

TEST_P(MathConvertTest, AllHalvesBecomeFloats) {
  std::vector<uint16_t> bits(1 << 16);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  const EmitElement halves = [](MathEmitter& m, llvm::Value* x, llvm::Value*) {
    return m.half_to_float(x);
  };
  const EmitElement bfloats = [](MathEmitter& m, llvm::Value* x, llvm::Value*) {
    return m.bfloat_to_float(x);
  };
  for (const bool flushes : {false, true}) {
    const auto from_half = convert<float>(halves, bits, flushes);
    const auto from_bfloat = convert<float>(bfloats, bits, flushes);
    for (const uint16_t i : bits) {
      const float half = half_to_float(i), bfloat = bf16_to_float(i);
      EXPECT_TRUE(std::isnan(half)
                      ? std::isnan(from_half[i])
                      : std::bit_cast<uint32_t>(half) == std::bit_cast<uint32_t>(from_half[i]))
          << i << ": " << from_half[i] << ", not " << half;
      EXPECT_EQ(std::bit_cast<uint32_t>(from_bfloat[i]), std::bit_cast<uint32_t>(bfloat)) << i;
    }
  }
}

TEST_P(MathConvertTest, FloatsAreRoundedToSixteenBits) {
  std::vector<float> numbers;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 16384 - 5)
    numbers.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (uint32_t half = 0; half < 0x10000; ++half) {  // halves, and ties between them
    const auto bits = std::bit_cast<uint32_t>(half_to_float(static_cast<uint16_t>(half)));
    for (const uint32_t offset : {0u, 0xfffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u})
      numbers.push_back(std::bit_cast<float>(bits + offset));
  }
  for (int i = 0; i < 2048; ++i) numbers.push_back(static_cast<float>(i) * 0x1p-25f);
  const EmitElement halves = [](MathEmitter& m, llvm::Value* x, llvm::Value*) {
    return m.float_to_half(x);
  };
  const EmitElement bfloats = [](MathEmitter& m, llvm::Value* x, llvm::Value*) {
    return m.float_to_bfloat(x);
  };
  for (const bool flushes : {false, true}) {
    const auto half = convert<uint16_t>(halves, numbers, flushes);
    const auto bfloat = convert<uint16_t>(bfloats, numbers, flushes);
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (std::isnan(numbers[i])) {
        EXPECT_GT(half[i] & 0x7fff, 0x7c00);
      } else {
        EXPECT_EQ(half[i], float_to_half(numbers[i])) << numbers[i];
      }
      EXPECT_EQ(bfloat[i], float_to_bf16(numbers[i])) << numbers[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, MathConvertTest,
                         testing::Values("cpu-avx512", "cpu-avx2", "cpu-generic"),
                         [](const auto& info) { return info.param.substr(4); });

}  // namespace
}  // namespace sluice
