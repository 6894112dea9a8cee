// What QuantizeLinear says of its division.
#pragma once

#include "common/ops/attributes.h"

namespace sluice {

// Returns the dtype to which x / scale is rounded: f16 or bf16 where the attribute 'precision', or
// in its absence the scale, has it, and otherwise f32 (ONNX, QuantizeLinear 23).
inline DType ratio_dtype(const Node& quantize) {
  const int64_t named = quantize.get(attributes::QuantizeLinear::precision);
  const DType dtype = named != 0 ? static_cast<DType>(named) : quantize.input(1)->type().dtype;
  return dtype == DType::kF16 || dtype == DType::kBF16 ? dtype : DType::kF32;
}

}  // namespace sluice
