// The passes of this stage; their order is the table in pipeline.cc.
#pragma once

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

Result<bool> link_subgraphs(Graph& graph, const Options& options);

}  // namespace sluice
