// The layout of weights of 8 bits for the generated kernels, as chains of canonical ops in both
// directions, and the sums of weights that kernels read.
#pragma once

#include "common/target/quantized.h"
#include "stages/subgraph-optimize/codegen/int8/int8.h"
#include "stages/subgraph-optimize/engines/aicore/chain.h"

namespace sluice {

// The second operand of a contraction, seen as [co, ci / groups, kh, kw].
struct Int8Packing {
  // The operand's dims: a convolution's, or a matrix [k, n] or, transposed, [n, k].
  std::vector<int64_t> dims;
  DType dtype = DType::kI8;
  bool is_matrix = false;
  bool transposed = false;
  int64_t co = 1, ci_per_group = 1, kh = 1, kw = 1;
  int64_t groups = 1;
  int64_t nr = 1;
  int64_t unit = 4;
  bool is_depthwise = false;

  // Appends the chain to [groups, panels, steps, nr, unit] of i8; depthwise to [kh * kw, nr].
  void pack(Chain& chain) const;
  void unpack(Chain& chain) const;
  int64_t reduction() const { return kh * kw * ci_per_group; }

 private:
  void rows_of_columns(Chain& chain) const;
};

// Append the chain to i32[co]. Of weights: for each result channel the sum of weight - zero point;
// zero_points is a value of the same graph, or null. Of zero points: what they are in the range of
// packed weights.
void sum_weights(const Int8Packing& packing, Value* zero_points, Chain& weights);
void spread_zero_points(const Int8Packing& packing, Chain& zero_points);

// Make constant expressions of these over constants; zero_point may be null.
SegmentId make_weight_sums(Module& module, const Int8Packing& packing, SegmentId weights,
                           const Value* zero_point);
SegmentId make_zero_points(Module& module, const Int8Packing& packing, const Value* zero_point);
// Returns false when zero points are known to be 0 in the range of packed weights.
bool has_zero_points(const Int8Packing& packing, const Value* zero_point);

}  // namespace sluice
