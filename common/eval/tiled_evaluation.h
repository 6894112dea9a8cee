// Large constants in tiles: the bytes of a constant expression are computed tile by tile, each from
// the parts of its inputs that it needs, so that a weight of any size takes little memory and stays
// in the cache. The tiles together are the bytes of evaluate_segment, bit for bit.
#pragma once

#include <cstdint>
#include <memory>

#include "common/eval/eval.h"

namespace sluice {

class TiledEvaluation {
 public:
  // `segment` is of any kind but kParameter and has elements of whole bytes unless it is small.
  // Elementwise ops and data movement (Transpose, Reshape and related ops, Pad with constants) are
  // evaluated by tiles; the results of other ops are evaluated here as a whole. Errors: those of
  // evaluate_segment.
  static Result<TiledEvaluation> make(const Module& module, SegmentId segment, uint64_t tile_bytes);
  TiledEvaluation(TiledEvaluation&&) noexcept;
  TiledEvaluation& operator=(TiledEvaluation&&) noexcept;
  ~TiledEvaluation();

  size_t tiles() const;  // 0 for a tensor without elements
  // Returns the bytes of a tile, which follow those of the tile before. Several threads may call it
  // at once.
  Result<TensorBytes> evaluate(size_t tile) const;

 private:
  struct TilePlan;
  explicit TiledEvaluation(std::unique_ptr<const TilePlan> plan);
  std::unique_ptr<const TilePlan> plan_;
};

}  // namespace sluice
