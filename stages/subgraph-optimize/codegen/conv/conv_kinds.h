// The kernels of convolutions other than the contraction over NHWC tensors: depthwise convolution,
// and direct convolution on dense tensors. They follow the contract of codegen.h.
#pragma once

#include "common/ir/type.h"
#include "stages/subgraph-optimize/codegen/codegen.h"

namespace sluice {

// A convolution with groups == ci == co, over NHWC tensors, without pixel strides. Packed weights
// are [kh * kw][nr], nr = channels rounded up to the plan's lanes, missing ones zero. Epilogue and
// pointers are those of ConvSpec.
struct DepthwiseSpec {
  ConvSpec conv;
};

struct DepthwisePlan {
  bool possible = false;  // the spec is depthwise, and small enough to be written out
  int lanes = 0;
  int vectors = 0;  // channels of a tile: lanes * vectors
  int pixels = 0;   // of a tile, along a row of the output
  int64_t nr = 0;
  uint32_t blocks = 1;
  double cycles = 0;  // estimated, one thread
};

DepthwisePlan choose_depthwise_plan(const ConvSpec& conv, const DeviceProfile& profile);
Result<GeneratedKernel> generate_depthwise(const DepthwiseSpec& spec, const DeviceProfile& profile);
std::string canonical_text(const DepthwiseSpec& spec);

// A convolution of dense x[n][ci][d][h][w] to dense y[n][co][od][oh][ow]: vectors run along the
// output pixels. In the epilogue a row is an output channel and a column an output pixel: a bias is
// EpilogueOperand::row(), a residual full(od * oh * ow, {co * od * oh * ow}).
//
// Phases have fixed sizes, no dilation along rows, and epilogue operands that are the same for all
// pixels of a channel.
//
// Packed weights are [groups][ceil((co/groups) / nr)][ci/groups][kd][kw][kh][nr] with nr =
// choose_direct_plan(...).rows, missing channels zero. They are f32 whatever x is: single weights
// are broadcast, and would have to be widened one by one.
struct DirectConvSpec {
  ConvSpec conv;
};

struct DirectConvPlan {
  bool possible = false;  // its scratch fits and its code is not too long
  int lanes = 0;
  int vectors = 0;         // output pixels of a tile: lanes * vectors
  int rows = 0;            // output channels of a tile
  int64_t chunk_rows = 1;  // output rows whose input is prepared at once
  // For symbolic sizes: floats for each phase of a plane, and, where the width is symbolic too,
  // output columns of a piece of a row that is too wide for them.
  int64_t phase_floats = 0, piece_columns = 0;
  int64_t chunks = 1;
  int64_t parts = 1;  // of the channel tiles of a chunk of phases, for blocks to share
  uint64_t scratch_bytes = 0;
  uint32_t blocks = 1;
  double cycles = 0;  // estimated, one thread
};

DirectConvPlan choose_direct_plan(const ConvSpec& conv, const DeviceProfile& profile);
Result<GeneratedKernel> generate_direct_conv(const DirectConvSpec& spec,
                                             const DeviceProfile& profile);
std::string canonical_text(const DirectConvSpec& spec);

enum class ConvKind { kContraction, kDepthwise, kDirect };  // the first two over NHWC tensors

// How x is stored, and how the result is to be.
struct ConvStorage {
  StorageMap x = dense_map(4), y = dense_map(4);
};

// Returns the kind with the smallest estimate of cycles, copies between formats included.
ConvKind choose_conv_kind(const ConvSpec& conv, const DeviceProfile& profile,
                          const ConvStorage& stored);

// Returns kCodegen for sizes below 1 or groups that do not divide the channels.
Result<void> check_conv(const ConvSpec& conv);

}  // namespace sluice
