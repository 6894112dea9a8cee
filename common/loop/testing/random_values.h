// Random scalar instructions in a sweep, with what is known about their values. Internal to
// random_loops.cc.
#pragma once

#include <optional>
#include <random>
#include <span>
#include <vector>

#include "common/loop/loop_graph.h"

namespace sluice::loop {

// Numbers from a seed, the same with every standard library.
class Dice {
 public:
  explicit Dice(uint32_t seed) : random_(seed) {}
  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return pick(0, 99) < percent; }
  template <typename T>
  const T& one_of(const std::vector<T>& list) {
    return list[static_cast<size_t>(pick(0, static_cast<int64_t>(list.size()) - 1))];
  }

 private:
  std::mt19937 random_;
};

// What is known about a value that an instruction has.
struct Known {
  InstructionId id = -1;
  DType dtype = DType::kF32;
  double bound = 0;  // of the magnitude; infinite for integers that may have wrapped around
  double error = 0;  // of what a generator may compute instead
  int fraction = 0;  // without an error: a float is a multiple of 2^-fraction
};

inline constexpr double kInputBound = 4;  // of floats in memory
inline constexpr int kInputFraction = 3;
inline constexpr double kIntegerBound = 40;  // of integers in memory; unsigned ones are positive

double epsilon_of(DType dtype);

// Takes note of the rounding of a float that was computed without it.
Known rounded(Known value);

// Writes the instructions of one sweep.
class ValueMaker {
 public:
  ValueMaker(Dice& dice, Nest& nest, std::vector<Known>& pool)
      : dice_(dice), nest_(nest), pool_(pool) {}

  InstructionId append(Instruction instruction);
  InstructionId scalar(ScalarOp op, DType dtype, std::vector<InstructionId> operands);
  // A constant; floats are multiples of 1/8.
  Known constant(DType dtype, double value);
  Known random_constant(DType dtype);
  Known extreme_constant(DType dtype, bool is_largest);  // an infinity, or the end of the range
  // One of the values of this dtype that `accepts`, or a constant.
  template <typename Accepts>
  Known choose(DType dtype, const Accepts& accepts);
  Known choose(DType dtype) {
    return choose(dtype, [](const Known&) { return true; });
  }
  Known choose_exact(DType dtype) {
    return choose(dtype, [](const Known& value) { return value.error == 0; });
  }
  Known clipped(const Known& value, double limit);
  // Adds one more value to the pool.
  void add_random();

 private:
  DType any_dtype();
  std::optional<Known> make_real(DType dtype);
  Known make_sum(DType dtype);
  Known make_extreme(DType dtype);
  Known make_quotient(DType dtype);
  Known make_function(DType dtype);
  Known make_power(DType dtype);
  Known make_step(DType dtype);
  Known argument(const Known& x, int kind);
  Known make_integer(DType dtype);
  Known make_division(DType dtype);
  Known make_comparison();
  Known make_select(DType dtype);
  Known make_bits(DType dtype);
  std::optional<Known> make_cast();
  Known cast_integer(const Known& from, DType to);
  std::optional<Known> cast_real(const Known& from, DType to);
  Known cast_to_real(const Known& from, DType to);

  Dice& dice_;
  Nest& nest_;
  std::vector<Known>& pool_;
};

template <typename Accepts>
Known ValueMaker::choose(DType dtype, const Accepts& accepts) {
  std::vector<Known> found;
  for (const Known& value : pool_)
    if (value.dtype == dtype && accepts(value)) found.push_back(value);
  if (found.empty() || dice_.chance(10)) return random_constant(dtype);
  return dice_.one_of(found);
}

}  // namespace sluice::loop
