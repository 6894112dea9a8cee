// Contractions over integers of 8 bits. They follow the contract of codegen.h; sums are exact
// integers of 32 bits (modulo 2^32).
//
// A sum is that of (x - x zero) * (w - w zero) over the reduction, where pixels outside the image
// count as x zero, and of the bias. The epilogue makes the stored element of it, also the rounding
// to bytes; without an epilogue the sum is stored. With the
// profile's int8_dot_product four products are added by one instruction (vpdpbusd), which takes the
// bytes of x without sign: signed ones are moved by 128 as rows are copied. Otherwise two products
// of 16 bits are added by one instruction (pmaddwd): x is widened, and its zero point subtracted,
// as rows are copied; w is so once for all tiles of a block, or, where these are few, in each of
// them. Many tiles multiply bytes even so (pmaddubsw) if the block finds w so small that no sum of
// two products leaves 16 bits. No intermediate result saturates.
#pragma once

#include "stages/subgraph-optimize/codegen/codegen.h"

namespace sluice {

struct Int8Numbers {
  bool x_signed = false;
  int32_t x_zero = 0;              // as in ONNX
  bool x_zero_is_operand = false;  // one byte, known when the kernel runs; x_zero is unused then
  bool has_w_zero = false;
  bool has_bias = false;
};

// A convolution; a matrix product is a 1x1 convolution of m images of one pixel.
//
// Packed weights are signed bytes (unsigned ones less 128): [groups][ceil((co/groups) / nr)][ceil(k
// / unit)][nr][unit], k = kh * kw * ci/groups with ci fastest, missing elements zero; nr and unit
// from choose_int8_plan.
//
// Pointers: y, x, packed weights, i32[co]: sums over the reduction of (w - w zero); with has_w_zero
// i32[co]: the zero points in the range of packed weights; with has_bias i32[co]; with
// x_zero_is_operand one byte; the epilogue's operands.
struct Int8ConvSpec {
  ConvSpec conv;  // without pixel strides
  Int8Numbers numbers;
};

struct Int8Plan {
  ContractionPlan tiles;
  int unit = 4;             // of packed weights
  bool copies_rows = true;  // x passes through scratch, except where bytes are multiplied in place
  // Scratch has the copied rows of a tile, their sums, and with panel_bytes > 0 a group of panels,
  // widened and less their zero points. The offsets are in bytes.
  int64_t row_bytes = 0, panel_bytes = 0;
  int64_t sums_offset = 0, panels_offset = 0;
  uint64_t scratch_bytes = 0;  // per worker

  bool widens_panels() const { return panel_bytes > 0; }
};

// The plan depends on the convolution's numbers, not on its epilogue, and on x_signed.
Int8Plan choose_int8_plan(const Int8ConvSpec& spec, const DeviceProfile& profile);
Result<GeneratedKernel> generate_int8_conv(const Int8ConvSpec& spec, const DeviceProfile& profile);
std::string canonical_text(const Int8ConvSpec& spec);

// A product of matrices that are both known only when the kernel runs:
//
//   y[batch, i, j] = result of the sum over k of (x[batch, i, k] - x zero) * (w[batch, k, j] - w
//   zero)
//
// Of the product a is x, whose a_k_stride is 1, and b is w, one of whose strides is 1. The kernel
// packs panels of w. A sum of symbolic length may be summed in pieces, so it has no epilogue.
//
// Pointers: y, x, w; with has_w_zero one byte, or with w_zero_per_column a byte for each column;
// with x_zero_is_operand one byte; the epilogue's operands. There is no bias.
struct Int8MatMulSpec {
  MatMulSpec product;
  Int8Numbers numbers;
  bool w_signed = false;
  bool w_zero_per_column = false;
};

Result<GeneratedKernel> generate_int8_matmul(const Int8MatMulSpec& spec,
                                             const DeviceProfile& profile);
std::string canonical_text(const Int8MatMulSpec& spec);

// A convolution with groups == ci == co. Packed weights are signed bytes [kh * kw][nr], nr =
// channels rounded up to the lanes. The sums over the reduction are not read. Zero points are in
// the range of packed weights. The pointers are those of Int8ConvSpec.
struct Int8DepthwiseSpec {
  ConvSpec conv;
  Int8Numbers numbers;
};

struct Int8DepthwisePlan {
  bool possible = false;
  int lanes = 0;
  int vectors = 0;  // channels of a tile: lanes * vectors
  int pixels = 0;   // of a tile, along a row of the output
  int64_t nr = 0;
  uint32_t blocks = 1;
  double cycles = 0;  // estimated, one thread
};

Int8DepthwisePlan choose_int8_depthwise_plan(const ConvSpec& conv, const DeviceProfile& profile);
Result<GeneratedKernel> generate_int8_depthwise(const Int8DepthwiseSpec& spec,
                                                const DeviceProfile& profile);
std::string canonical_text(const Int8DepthwiseSpec& spec);

}  // namespace sluice
