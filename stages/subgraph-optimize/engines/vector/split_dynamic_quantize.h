// Dynamic quantization of many elements: three kernels in the place of one, so that threads share
// the work.
#pragma once

#include "common/ir/graph.h"

namespace sluice {

// Splits the DynamicQuantizeLinear nodes of a graph whose inputs are long enough to share.
void split_dynamic_quantize(Graph& graph);

}  // namespace sluice
