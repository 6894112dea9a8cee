// Smaller sizes: dims of inputs, and of the constants that go with them.
#pragma once

#include <optional>
#include <vector>

#include "common/tools/reduce/model.h"

namespace sluice {

// Sizes above 1 that dims of inputs and of constants have, the largest first.
std::vector<int64_t> sizes_of(const onnx::ModelProto& model);
// Every dim of this size gets another one, in inputs and constants everywhere; constants keep their
// first elements. Shapes that lie in small integer constants, such as the target of a Reshape,
// change along when asked to. Nothing: no such dim, or one that cannot be cut.
std::optional<onnx::ModelProto> with_size(const onnx::ModelProto& model, int64_t from, int64_t to,
                                          bool in_elements);
// One dim of one input of the model's graph.
std::optional<onnx::ModelProto> with_input_dim(const onnx::ModelProto& model, int input, int axis,
                                               int64_t extent);

}  // namespace sluice
