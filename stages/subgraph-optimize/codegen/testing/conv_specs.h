// Convolutions for the tests of their kernels.
#pragma once

#include "stages/subgraph-optimize/codegen/codegen.h"
#include "stages/subgraph-optimize/codegen/epilogue_builder.h"

namespace sluice {

// Returns a convolution over square images whose square kernel is padded by half on all sides.
inline ConvSpec square_conv(int64_t n, int64_t side, int64_t ci, int64_t co, int64_t kernel,
                            int64_t stride = 1, int64_t groups = 1) {
  const int64_t pad = kernel / 2, out = (side + 2 * pad - kernel) / stride + 1;
  ConvSpec s{.n = n, .h = side, .w = side, .ci = ci, .oh = out, .ow = out, .co = co};
  s.kh = s.kw = kernel, s.stride_h = s.stride_w = stride, s.pad_top = s.pad_left = pad;
  s.groups = groups;
  return s;
}

// Appends relu(sum + bias + residual).
inline void add_bias_and_residual(ConvSpec& s, const EpilogueOperand& bias,
                                  const EpilogueOperand& residual) {
  EpilogueBuilder e;
  const int value = e.add(e.accumulator(), e.load(bias, s.dtype));
  s.epilogue = e.finish(e.relu(e.add(value, e.load(residual, s.dtype))), s.dtype);
}

}  // namespace sluice
