// The passes of this stage; their order is the table in pipeline.cc.
#pragma once

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

Result<bool> split_stage_levels(Graph& graph, const Options& options);
Result<bool> place_shapes_on_host(Graph& graph, const Options& options);
Result<bool> place_engines(Graph& graph, const Options& options);
Result<bool> split_shapes(Graph& graph, const Options& options);
Result<bool> cut_composites(Graph& graph, const Options& options);
Result<bool> drop_formats(Graph& graph, const Options& options);
Result<bool> cut_subgraphs(Graph& graph, const Options& options);

}  // namespace sluice
