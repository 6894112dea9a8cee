// The kernel generator turns the numbers of a contraction and a device profile into one closed
// machine-code object. It is pure: the same specification produces the same bytes on every machine.
// It knows no graph.
//
// Every kernel follows runtime/device/kernel_abi.h. Operands are f32, f16 or bf16, sums are f32,
// and the epilogue says what is stored; all strides are in elements. Fixed sizes are >= 1 (K too).
// Sizes and strides of type Extent may depend on symbols, whose values (>= 0) are in
// KernelArgs.symbols when the kernel runs; the plan is made for the nominal ones. With a size of 0
// the kernel does nothing; with k = 0 every sum is 0. Pointers must be aligned to their elements;
// 64 bytes are faster. The output must not overlap any input, except that an epilogue operand may
// be the output itself when each element is read where it is written (EpilogueOperand::full with
// the output's strides).
//
// Errors: kCodegen means that a specification contradicts itself or that an object is not closed;
// kNotLowerable means that a specification is meaningful but this generator cannot do it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/target/profile.h"
#include "stages/subgraph-optimize/codegen/epilogue.h"
#include "stages/subgraph-optimize/codegen/extent.h"

namespace sluice {

struct GeneratedKernel {
  std::vector<std::byte> object;  // ELF64 relocatable, closed
  // "k_" and 16 hex digits of the digest of specification, profile and generator version
  std::string entry;
  // A fixed kernel must be launched with exactly this number of blocks; a symbolic one with any
  // number from 1 to this: clamp(multiply_adds / multiply_adds_per_block, 1, blocks).
  uint32_t blocks = 1;
  int64_t multiply_adds_per_block = 0;  // 0 for a fixed kernel
  // Per worker, whatever the sizes; at most DeviceProfile.scratch_limit.
  uint64_t scratch_bytes = 0;
  Extent multiply_adds = 0;  // for loops: the elements of the largest operand
  // Estimated for one thread that runs all blocks, at the nominal sizes; at others in proportion to
  // multiply_adds.
  double cycles = 0;
};

// One batch axis; the outermost comes first. A stride of 0 broadcasts. c_stride is never 0 unless
// size is 1.
struct BatchAxis {
  Extent size = 1;
  Extent a_stride = 0, b_stride = 0, c_stride = 0;
};

// C[batch, i, j] = epilogue(sum over k of A[batch, i, k] * B[batch, k, j]), i < m, j < n, k < k.
//
// Pointers: C, A, B, then the epilogue's operands.
struct MatMulSpec {
  DType dtype = DType::kF32;  // of A and B
  Extent m = 1, n = 1, k = 1;
  Extent a_row_stride = 0, a_k_stride = 1;
  // Packed B: [ceil(n / nr)][k][nr] with nr = choose_matmul_plan(...).nr, missing columns zero; of
  // bf16 [ceil(n / nr)][ceil(k / 2)][nr][2], a missing row zero too. b_row_stride and
  // b_column_stride are then unused.
  bool b_packed = false;
  // B in place may have any strides. The kernel itself packs it into scratch where its column
  // stride is not 1, or where gaps separate rows that several tiles read.
  Extent b_row_stride = 0, b_column_stride = 1;
  Extent c_row_stride = 0;       // column stride is 1
  std::vector<BatchAxis> batch;  // at most 6
  Epilogue epilogue;
};

// The tiling of a contraction. Choosing it is cheap and needs no LLVM. For symbolic sizes the
// numbers of panels and blocks are those at the nominal sizes.
struct ContractionPlan {
  int lanes = 0;             // floats per vector
  int vectors = 0;           // vectors per tile row
  int rows = 0;              // rows per tile
  int64_t nr = 0;            // lanes * vectors: columns per panel, the packing's last axis
  int64_t panels = 0;        // ceil(n / nr)
  int64_t panel_group = 1;   // panels computed for one row tile before the next row tile
  int64_t batch_blocks = 1;  // blocks along the batch entries (or groups)
  int64_t row_blocks = 1;    // blocks along the rows of an entry
  int64_t panel_blocks = 1;  // blocks along the panels of an entry
  uint32_t blocks = 1;       // of the launch: the product of the three
  double cycles = 0;         // estimated for one thread that runs all blocks
  // A MatMul computes up to so many rows by dot products with the columns of B, which must be
  // contiguous (contraction/dot_tile.h); 0: none. Where the number of rows is fixed and within
  // this, the tile is that of the dot products.
  int64_t dot_rows = 0;
};

// The plan depends on every number of the spec except the epilogue; that of packed B on no stride
// of B either.
ContractionPlan choose_matmul_plan(const MatMulSpec& spec, const DeviceProfile& profile);
Result<GeneratedKernel> generate_matmul(const MatMulSpec& spec, const DeviceProfile& profile);

// The outermost spatial axis of a 3-d convolution; a 2-d one has one element along it.
struct ConvDepth {
  Extent in = 1, out = 1;
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t pad = 0;  // at the front; that at the back follows from `out`

  bool operator==(const ConvDepth&) const = default;
};

// The phases of a transposed convolution's result: every h-th row and w-th column of it is of one
// phase. All are computed by one convolution, whose output channels are [groups][h][w][channels].
// Position p of phase r along an axis is element stride * p + r - cut of the result; those before
// its first element are not computed.
struct ConvPhases {
  int64_t h = 1, w = 1;
  int64_t cut_top = 0, cut_left = 0;

  int64_t count() const { return h * w; }
  bool operator==(const ConvPhases&) const = default;
};

// A 2-d or 3-d convolution, channels last: x[n][d][h][w][ci], y[n][od][oh][ow][co]; group g reads
// channels [g*ci/groups, ...) and writes [g*co/groups, ...). Output pixel (od, oh, ow) reads input
// row oh * stride_h + kh * dilation_h - pad_top; what is outside counts as zero. Kernels of one
// position are included.
//
// Packed weights are [groups][ceil((co/groups) / nr)][kd * kh * kw * (ci/groups)][nr] with nr =
// choose_conv_plan(...).nr, reduction index (kd, kh, kw, ci) with ci fastest, missing columns zero.
// Those of bf16 with an even number of channels are in pairs: [groups][panels][…/2][nr][2].
//
// Pointers: y, x, packed weights, then the epilogue's operands.
struct ConvSpec {
  DType dtype = DType::kF32;  // of x and the weights
  Extent n = 1, h = 1, w = 1;
  int64_t ci = 1;
  Extent oh = 1, ow = 1;
  int64_t co = 1;
  int64_t kh = 1, kw = 1;
  int64_t stride_h = 1, stride_w = 1;
  int64_t dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_left = 0;  // bottom and right padding follow from oh and ow
  int64_t groups = 1;
  int64_t x_pixel_stride = 0;  // 0: ci; rows and images follow each other without gaps
  int64_t y_pixel_stride = 0;  // 0: result_channels
  ConvDepth depth;
  // With phases, oh and ow count the positions of each phase, and the result is
  // y[n][oh * phases.h][ow * phases.w][co / phases.count()]; there is no depth, and no stride. The
  // weights of each phase are packed like those of a group: [groups][phases].
  ConvPhases phases;
  Epilogue epilogue;  // its column is the channel of the result over all groups
};

inline int64_t result_channels(const ConvSpec& s) { return s.co / s.phases.count(); }

inline bool is_3d(const ConvSpec& spec) { return spec.depth != ConvDepth(); }
// The elements of an image, without channels.
inline Extent input_pixels(const ConvSpec& s) { return s.depth.in * s.h * s.w; }
inline Extent output_pixels(const ConvSpec& s) { return s.depth.out * s.oh * s.ow; }
inline int64_t kernel_positions(const ConvSpec& s) { return s.depth.kernel * s.kh * s.kw; }
// Returns whether every output pixel reads the input pixel in its own place, and no other.
inline bool is_pointwise(const ConvSpec& s) {
  return kernel_positions(s) == 1 && s.depth.stride == 1 && s.stride_h == 1 && s.stride_w == 1 &&
         s.depth.pad == 0 && s.pad_top == 0 && s.pad_left == 0 && s.phases.cut_top == 0 &&
         s.phases.cut_left == 0 && s.depth.out.nominal == s.depth.in.nominal &&
         s.oh.nominal == s.h.nominal && s.ow.nominal == s.w.nominal;
}
// Returns whether the contraction over NHWC tensors reads weights in pairs.
inline bool has_pairs(const ConvSpec& spec) {
  return spec.dtype == DType::kBF16 && spec.ci / spec.groups % 2 == 0;
}

// The plan depends on every number of the spec and the dtype, but not on the epilogue.
ContractionPlan choose_conv_plan(const ConvSpec& spec, const DeviceProfile& profile);
Result<GeneratedKernel> generate_conv(const ConvSpec& spec, const DeviceProfile& profile);

// Returns whether contractions read operands of the dtype.
inline bool is_operand_dtype(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

// Returns whether no size or stride has symbols.
bool is_fixed(const MatMulSpec& spec);
bool is_fixed(const ConvSpec& spec);

// Returns the text whose digest names the kernel (with profile and generator version).
std::string canonical_text(const MatMulSpec& spec);
std::string canonical_text(const ConvSpec& spec);

}  // namespace sluice
