// The passes of this stage; their order is the table in pipeline.cc.
#pragma once

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

Result<bool> lower_subgraphs(Graph& graph, const Options& options);
Result<bool> store_states_in_place(Graph& root, const Options& options);

}  // namespace sluice
