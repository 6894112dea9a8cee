// The rewrites of this stage that need no patterns; the table in pipeline.cc describes each.
#pragma once

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

Result<bool> choose_formats(Graph& root, const Options& options);
Result<bool> decompose_attention(Graph& root, const Options& options);
Result<bool> decompose_causal_convolution(Graph& root, const Options& options);
Result<bool> decompose_cross_entropy(Graph& root, const Options& options);
Result<bool> decompose_einsum(Graph& root, const Options& options);
Result<bool> decompose_flex_attention(Graph& root, const Options& options);
Result<bool> decompose_max_pool(Graph& root, const Options& options);
Result<bool> decompose_quantized_product(Graph& root, const Options& options);
Result<bool> decompose_transposed_convolution(Graph& root, const Options& options);
Result<bool> defer_constants(Graph& root, const Options& options);
Result<bool> eliminate_common_subexpressions(Graph& root, const Options& options);
Result<bool> eliminate_dead_nodes(Graph& root, const Options& options);
Result<bool> eliminate_identities(Graph& root, const Options& options);
Result<bool> fold_constants(Graph& root, const Options& options);
Result<bool> fold_pad_into_conv(Graph& root, const Options& options);
Result<bool> fold_requantization(Graph& root, const Options& options);
Result<bool> fold_reshape_chain(Graph& root, const Options& options);
Result<bool> fold_transpose_chain(Graph& root, const Options& options);
Result<bool> fold_transpose_into_weights(Graph& root, const Options& options);
Result<bool> split_attention_states(Graph& root, const Options& options);
Result<bool> store_pieces(Graph& root, const Options& options);
Result<bool> widen_convolution(Graph& root, const Options& options);

}  // namespace sluice
