// Large constants in tiles: the bytes of a constant expression made piece by piece, each from the
// pieces of its inputs that it needs, so that a weight of any size takes little memory and stays in
// the cache. The tiles together are evaluate_segment's bytes, bit for bit.
#pragma once

#include <cstdint>
#include <memory>

#include "common/eval/eval.h"

namespace sluice {

class TiledEvaluation {
 public:
  // `segment`: of any kind but kParameter, with elements of whole bytes unless it is small.
  // Elementwise ops and data movement (Transpose, Reshape and its kind, Pad with constants) are
  // evaluated by tiles; what other ops make is evaluated here, whole. Errors: those of
  // evaluate_segment.
  static Result<TiledEvaluation> make(const Module& module, SegmentId segment, uint64_t tile_bytes);
  TiledEvaluation(TiledEvaluation&&) noexcept;
  TiledEvaluation& operator=(TiledEvaluation&&) noexcept;
  ~TiledEvaluation();

  size_t tiles() const;  // 0 for a tensor without elements
  // The bytes of a tile, which follow those of the tile before. By several threads at once.
  Result<TensorBytes> evaluate(size_t tile) const;

 private:
  struct TilePlan;
  explicit TiledEvaluation(std::unique_ptr<const TilePlan> plan);
  std::unique_ptr<const TilePlan> plan_;
};

}  // namespace sluice
