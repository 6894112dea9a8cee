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
std::span<const LoweringRow> movement_rows();
std::span<const LoweringRow> padding_rows();
std::span<const LoweringRow> gather_rows();
std::span<const LoweringRow> scatter_rows();
std::span<const LoweringRow> cumulative_rows();
std::span<const LoweringRow> blocks_rows();
std::span<const LoweringRow> generator_rows();
std::span<const LoweringRow> resize_rows();
std::span<const LoweringRow> rotary_embedding_rows();
std::span<const LoweringRow> grid_rows();
std::span<const LoweringRow> normalization_rows();
std::span<const LoweringRow> pooling_rows();
std::span<const LoweringRow> quantization_rows();
std::span<const LoweringRow> loss_rows();

}  // namespace sluice::loop
