// Reductions of few rows: two kernels in the place of one, so that threads share the work.
#pragma once

#include "common/ir/graph.h"

namespace sluice {

// Splits the reductions of a graph whose rows are too few for the threads and long enough to share.
void split_reductions(Graph& graph);

}  // namespace sluice
