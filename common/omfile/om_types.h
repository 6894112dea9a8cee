// Describes the types of a compiled model, and checks tensors against them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "model.pb.h"

namespace sluice {

// Returns "f32 1x3x224x224", "i64 batchx?", "f32 of any rank", "sequence of f32 ?", "optional of
// string scalar". Indices were verified.
std::string type_text(const pb::ModelDef& model, uint32_t type);

// Returns whether a tensor has a tensor type.
bool tensor_fits(const pb::TypeDef& type, uint32_t dtype, std::span<const int64_t> dims);

}  // namespace sluice
