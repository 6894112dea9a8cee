// The rewrites of this stage that make fewer, larger nodes; pipeline.cc has a table of them. Some
// are files of rules (fusion_rules.h).
#pragma once

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

Result<bool> fold_batch_norm(Graph& root, const Options& options);
Result<bool> fuse_attention(Graph& root, const Options& options);
Result<bool> fuse_contraction_epilogue(Graph& root, const Options& options);
Result<bool> fuse_elementwise(Graph& root, const Options& options);
Result<bool> fuse_layer_normalization(Graph& root, const Options& options);
Result<bool> fuse_quantized_contraction(Graph& root, const Options& options);
Result<bool> fuse_rms_normalization(Graph& root, const Options& options);
Result<bool> fuse_transposed_operands(Graph& root, const Options& options);

}  // namespace sluice
