// Smaller sizes: dims of inputs, and of the constants that depend on them.
#pragma once

#include <optional>
#include <vector>

#include "common/tools/reduce/model.h"

namespace sluice {

// Returns the sizes above 1 of dims of inputs and of constants, the largest first.
std::vector<int64_t> sizes_of(const onnx::ModelProto& model);
// Replaces every dim of this size by another, in inputs and constants everywhere; constants keep
// their first elements. With in_elements, sizes in small integer constants, such as the target of a
// Reshape, change, too. Returns nothing when there is no such dim, or one cannot be cut.
std::optional<onnx::ModelProto> with_size(const onnx::ModelProto& model, int64_t from, int64_t to,
                                          bool in_elements);
// Changes one dim of one input of the model's graph.
std::optional<onnx::ModelProto> with_input_dim(const onnx::ModelProto& model, int input, int axis,
                                               int64_t extent);

}  // namespace sluice
