// Sizes of the results of sliding windows: convolutions and pooling.
#pragma once

#include "common/ops/infer_call.h"

namespace sluice {

// Returns the spatial dims of the result: floor((in + pads - ((kernel - 1) * dilation + 1)) /
// stride) + 1 each, from the node's attributes (strides, dilations, pads, auto_pad, ceil_mode). in
// and kernel: one dim per spatial axis. With ceil_mode a window that would start beyond the input
// and its first pad is not counted.
Result<Dims> window_dims(InferCall& call, std::span<const Dim> in, std::span<const Dim> kernel);

// Returns (kernel - 1) * dilation + 1.
Dim window_extent(InferCall& call, const Dim& kernel, int64_t dilation);

// Returns the result's shape of a convolution of `x` by weights `w` [M, C/group, kernel…].
Result<Shape> convolution_shape(InferCall& call, size_t x, size_t w);

// Returns the shape of numpy's matmul of inputs a and b.
Result<Shape> matmul_shape(InferCall& call, size_t a, size_t b);

}  // namespace sluice
