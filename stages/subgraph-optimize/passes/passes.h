// The passes of this stage; their order is the table in pipeline.cc.
#pragma once

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

Result<bool> eliminate_unread_operands(Graph& root, const Options& options);
Result<bool> lower_subgraphs(Graph& graph, const Options& options);
Result<bool> split_dynamic_quantize(Graph& root, const Options& options);
Result<bool> split_recurrent_cells(Graph& root, const Options& options);
Result<bool> split_reductions(Graph& root, const Options& options);
Result<bool> store_states_in_place(Graph& root, const Options& options);

}  // namespace sluice
