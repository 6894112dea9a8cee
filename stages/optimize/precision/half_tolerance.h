// The one table of what computing in 16-bit floats does to an operator. docs/precision.md prints
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "common/ir/op.h"

namespace sluice {

enum class HalfTolerance : uint8_t {
  kAllow,  // worth it: the cost is in products, which are summed in f32
  kGray,   // loses no more than its operands have lost
  kDeny,   // loses what 16 bits do not hold: long sums, differences of near numbers, wide ranges
  kDtypeFree,  // reads a value of any dtype, and its results do not depend on which
};
std::optional<HalfTolerance> half_tolerance_from_name(std::string_view name);  // the first three

struct HalfToleranceRow {
  Op op;
  HalfTolerance tolerance;
  uint32_t operands = UINT32_MAX;  // bit i: input i has the dtype that the node computes in

  bool takes(size_t input) const { return input >= 32 || (operands >> input & 1) != 0; }
};

std::span<const HalfToleranceRow> half_tolerance_table();
// Returns null for an operator without floats, or with a dtype that its attributes fix.
const HalfToleranceRow* find_half_tolerance(Op op);

}  // namespace sluice
