// The layout of weights for the generated kernels, as chains of canonical ops in both directions,
// and as loops that pack a weight known only at run time.
#pragma once

#include "common/loop/packing.h"
#include "stages/subgraph-optimize/engines/aicore/chain.h"

namespace sluice {

// The second operand of a matrix product: [batch..., k, n], or [.., n, k] when transposed.
struct MatrixPacking {
  std::vector<int64_t> batch;
  int64_t k = 1, n = 1;
  bool transposed = false;
  int64_t nr = 1;
  DType dtype = DType::kF32;
  bool in_pairs = false;  // of rows

  // Makes [batch..., panels, k, nr], in pairs [batch..., panels, k / 2 rounded up, nr, 2].
  void pack(Chain& chain) const;
  void unpack(Chain& chain) const;  // back to the operand's own shape
  loop::Packing loops() const;      // those that pack at run time

 private:
  void pack_pairs(Chain& chain) const;
  void unpack_pairs(Chain& chain) const;
};

// A convolution's weight: [co, ci / groups, kh, kw], or [co, ci / groups, kd, kh, kw].
struct ConvPacking {
  int64_t co = 1, ci_per_group = 1, kh = 1, kw = 1;
  int64_t groups = 1;
  int64_t nr = 1;
  // The reduction index is (ci, kd, kw, kh) as in the direct kernels, otherwise (kd, kh, kw, ci).
  bool is_direct = false;
  int64_t kd = 0;             // 0: a kernel of two axes
  DType dtype = DType::kF32;  // packed as f32 for the direct kernels
  bool in_pairs = false;      // along ci, whose number is even

  // Makes [groups, panels, kd * kh * kw * ci/groups, nr], in pairs [groups, panels, …/2, nr, 2].
  void pack(Chain& chain) const;
  void unpack(Chain& chain) const;
  loop::Packing loops() const;

 private:
  int64_t depth() const { return kd == 0 ? 1 : kd; }
  // The slices of a kernel belong to its rows, or where it is direct to its channels.
  int64_t channels() const { return is_direct ? ci_per_group * depth() : ci_per_group; }
  int64_t rows() const { return is_direct ? kh : depth() * kh; }
};

// A depthwise convolution's weight: [channels, 1, kh, kw].
struct DepthwisePacking {
  int64_t channels = 1, kh = 1, kw = 1;
  int64_t nr = 1;
  DType dtype = DType::kF32;

  void pack(Chain& chain) const;  // -> [kh * kw, nr]
  void unpack(Chain& chain) const;
  loop::Packing loops() const;
};

}  // namespace sluice
