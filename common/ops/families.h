// The rows of each op family; op_table.cc joins them.
#pragma once

#include "common/ops/op_table.h"

namespace sluice {

std::span<const OpRow> attention_rows();
std::span<const OpRow> control_flow_rows();
std::span<const OpRow> contraction_rows();
std::span<const OpRow> einsum_rows();
std::span<const OpRow> elementwise_binary_rows();
std::span<const OpRow> elementwise_unary_rows();
std::span<const OpRow> generator_rows();
std::span<const OpRow> image_rows();
std::span<const OpRow> indexing_rows();
std::span<const OpRow> loss_rows();
std::span<const OpRow> ml_rows();
std::span<const OpRow> normalization_rows();
std::span<const OpRow> pooling_rows();
std::span<const OpRow> quantization_rows();
std::span<const OpRow> recurrent_rows();
std::span<const OpRow> reduction_rows();
std::span<const OpRow> resize_rows();
std::span<const OpRow> scatter_rows();
std::span<const OpRow> selection_rows();
std::span<const OpRow> sequence_rows();
std::span<const OpRow> shape_rows();
std::span<const OpRow> signal_rows();
std::span<const OpRow> sluice_rows();
std::span<const OpRow> split_rows();
std::span<const OpRow> string_rows();

}  // namespace sluice
