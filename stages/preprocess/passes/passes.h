// The passes of sluice-preprocess, in pipeline order. The head of each file explains its pass.
#pragma once

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

Result<bool> select_outputs(Graph& graph, const Options& options);
Result<bool> normalize_zipmap(Graph& graph, const Options& options);
Result<bool> infer_types(Graph& graph, const Options& options);
Result<bool> normalize_dropout(Graph& graph, const Options& options);
Result<bool> normalize_cross_entropy(Graph& graph, const Options& options);
Result<bool> normalize_padding(Graph& graph, const Options& options);
Result<bool> resolve_shapes(Graph& graph, const Options& options);

}  // namespace sluice
