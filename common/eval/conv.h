// The common parts of all kinds of convolution.
#pragma once

#include <span>
#include <vector>

#include "common/eval/window.h"

namespace sluice::eval {

struct ConvShape {
  int64_t batch = 0;
  int64_t channels = 0;
  int64_t filters = 0;
  int64_t groups = 1;
  Window window;
  std::vector<int64_t> y;
};

// Makes the shape from x [N, C, spatial...] and w [M, C / group, kernel...]; the group and the
// window come from the node's attributes.
Result<ConvShape> make_conv_shape(const EvalCall& call, std::span<const int64_t> x,
                                  std::span<const int64_t> w);

// Computes y += convolution of x with w; padding has the value `pad`. T: float, double, int32_t.
template <typename T>
void convolve(const ConvShape& shape, const T* x, const T* w, T pad, T* y);

}  // namespace sluice::eval
