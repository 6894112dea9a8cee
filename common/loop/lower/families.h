// The operators that can be lowered to loops, one table per family.
#pragma once

#include <span>

#include "common/loop/lowering.h"

namespace sluice::loop {

std::span<const LoweringRow> unary_rows();
std::span<const LoweringRow> binary_rows();
std::span<const LoweringRow> conversion_rows();
std::span<const LoweringRow> view_rows();
std::span<const LoweringRow> reduction_rows();
std::span<const LoweringRow> softmax_rows();
std::span<const LoweringRow> normalization_rows();
std::span<const LoweringRow> pooling_rows();
std::span<const LoweringRow> quantization_rows();

}  // namespace sluice::loop
