// The passes of this stage; their order is the table in pipeline.cc.
#pragma once

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

Result<bool> assign_logical_streams(Graph& graph, const Options& options);
Result<bool> link_subgraphs(Graph& graph, const Options& options);
Result<bool> fold_conditions(Graph& graph, const Options& options);
Result<bool> fold_linked_constants(Graph& graph, const Options& options);
Result<bool> merge_equal_nodes(Graph& graph, const Options& options);
Result<bool> cancel_trans_data(Graph& graph, const Options& options);
Result<bool> remove_copies(Graph& graph, const Options& options);
Result<bool> resolve_conflicts(Graph& graph, const Options& options);
Result<bool> mark_no_task(Graph& graph, const Options& options);
Result<bool> balance_streams(Graph& graph, const Options& options);
Result<bool> order_tasks(Graph& graph, const Options& options);
// The passes of streams return kLimit when a part needs more than the device profile has.
Result<bool> assign_streams(Graph& graph, const Options& options);
Result<bool> insert_events(Graph& graph, const Options& options);
Result<bool> split_streams(Graph& graph, const Options& options);
Result<bool> reuse_events(Graph& graph, const Options& options);
Result<bool> assign_buffers(Graph& graph, const Options& options);
Result<bool> assign_memory_classes(Graph& graph, const Options& options);
Result<bool> layout_weights(Graph& graph, const Options& options);
// Returns kLimit when a part of fixed sizes needs a larger arena than any model may have.
Result<bool> plan_memory(Graph& graph, const Options& options);

}  // namespace sluice
