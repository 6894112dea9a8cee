// Offsets that are limited by minima and maxima, as at the mirrored or repeated edges of an image:
// where no limit takes effect, elements that are neighbours lie side by side.
#pragma once

#include <optional>
#include <vector>

#include "common/loop/loop_graph.h"

namespace sluice {

struct PlainOffset {
  ExpressionId offset = -1;
  // The plain offset is the limited one where none of these is negative.
  std::vector<ExpressionId> non_negative;
};

// Returns the offset without the minima and maxima that depend on a symbol: of their operands that
// one which grows with it. Nothing when there are none, or such an operand is not to be found.
std::optional<PlainOffset> without_limits(loop::LoopGraph& graph, ExpressionId offset,
                                          SymbolId symbol);

}  // namespace sluice
