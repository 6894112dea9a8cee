// Large constants in panels: the bytes of a constant expression made piece by piece, each from the pieces of its inputs that it needs, so
// that a weight of any size takes little memory and stays in the cache. The panels together are evaluate_segment's bytes, bit for bit.
#pragma once

#include <cstdint>
#include <memory>

#include "common/eval/eval.h"

namespace sluice {

class PanelEvaluation {
 public:
  // `segment`: of any kind but kParameter, with elements of whole bytes unless it is small. Elementwise ops and data movement (Transpose,
  // Reshape and its kind, Pad with constants) are evaluated by panels; what other ops make is evaluated here, whole. Errors: those of
  // evaluate_segment.
  static Result<PanelEvaluation> make(const Module& module, SegmentId segment, uint64_t panel_bytes);
  PanelEvaluation(PanelEvaluation&&) noexcept;
  PanelEvaluation& operator=(PanelEvaluation&&) noexcept;
  ~PanelEvaluation();

  size_t panels() const;  // 0 for a tensor without elements
  // The bytes of a panel, which follow those of the panel before. By several threads at once.
  Result<TensorBytes> evaluate(size_t panel) const;

 private:
  struct Plan;
  explicit PanelEvaluation(std::unique_ptr<const Plan> plan);
  std::unique_ptr<const Plan> plan_;
};

}  // namespace sluice
