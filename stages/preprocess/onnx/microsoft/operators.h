// The operators of the domain com.microsoft that optimizers, quantizers and exporters write are
// replaced by canonical nodes at import. There is one row of the table (table.cc) and one file for
// each.
#pragma once

#include "stages/preprocess/onnx/expand_row.h"

namespace sluice {

// Returns null for a node that is not of com.microsoft, or not in the table.
const ExpandRow* find_microsoft_operator(const onnx::NodeProto& node);

Result<void> expand_attention(ExpandCall& call);
Result<void> expand_bias_gelu(ExpandCall& call);
Result<void> expand_cdist(ExpandCall& call);
Result<void> expand_decoder_masked_multi_head_attention(ExpandCall& call);
Result<void> expand_dequantize_linear(ExpandCall& call);
Result<void> expand_dynamic_quantize_lstm(ExpandCall& call);
Result<void> expand_dynamic_quantize_matmul(ExpandCall& call);
Result<void> expand_embed_layer_normalization(ExpandCall& call);
Result<void> expand_expand_dims(ExpandCall& call);
Result<void> expand_fast_gelu(ExpandCall& call);
Result<void> expand_fused_conv(ExpandCall& call);
Result<void> expand_fused_gemm(ExpandCall& call);
Result<void> expand_fused_matmul(ExpandCall& call);
Result<void> expand_gelu(ExpandCall& call);
Result<void> expand_gather_block_quantized(ExpandCall& call);
Result<void> expand_grid_sample(ExpandCall& call);
Result<void> expand_group_query_attention(ExpandCall& call);
Result<void> expand_inverse(ExpandCall& call);
Result<void> expand_layer_normalization(ExpandCall& call);
Result<void> expand_matmul_integer_to_float(ExpandCall& call);
Result<void> expand_matmul_n_bits(ExpandCall& call);
Result<void> expand_multi_head_attention(ExpandCall& call);
Result<void> expand_nhwc_max_pool(ExpandCall& call);
Result<void> expand_qattention(ExpandCall& call);
Result<void> expand_qgemm(ExpandCall& call);
Result<void> expand_qlinear_add(ExpandCall& call);
Result<void> expand_qlinear_average_pool(ExpandCall& call);
Result<void> expand_qlinear_concat(ExpandCall& call);
Result<void> expand_qlinear_global_average_pool(ExpandCall& call);
Result<void> expand_qlinear_leaky_relu(ExpandCall& call);
Result<void> expand_qlinear_mul(ExpandCall& call);
Result<void> expand_qlinear_sigmoid(ExpandCall& call);
Result<void> expand_qlinear_softmax(ExpandCall& call);
Result<void> expand_qlinear_where(ExpandCall& call);
Result<void> expand_quantize_linear(ExpandCall& call);
Result<void> expand_quick_gelu(ExpandCall& call);
Result<void> expand_rotary_embedding(ExpandCall& call);
Result<void> expand_simplified_layer_normalization(ExpandCall& call);
Result<void> expand_skip_layer_normalization(ExpandCall& call);
Result<void> expand_skip_simplified_layer_normalization(ExpandCall& call);
Result<void> expand_trilu(ExpandCall& call);
Result<void> expand_unique(ExpandCall& call);

}  // namespace sluice
