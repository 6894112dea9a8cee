// The weights region: every constant that a step reads, once each.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/result.h"
#include "common/base/tensor.h"
#include "common/ir/module.h"
#include "runtime/loader/om_writer.h"
#include "stages/build/tasks/steps.h"

namespace sluice {

struct WeightLayout {
  std::vector<SegmentId> segments;  // in order of first use
  std::vector<uint64_t> offsets;    // by SegmentId; multiples of 64
  uint64_t bytes = 0;
};

// Lays out the constants that steps read or that are model outputs.
WeightLayout layout_weights(const Graph& root, const StepList& list);

// The bytes of the region. Constant expressions and splats are evaluated, each once, `threads` at a time; the rest stays in the files it
// lies in.
struct WeightBytes {
  std::vector<Tensor> evaluated;  // keeps what pieces point to alive
  std::vector<OmPiece> pieces;
};
Result<WeightBytes> evaluate_weights(const Module& module, const WeightLayout& layout, int64_t threads);

}  // namespace sluice
