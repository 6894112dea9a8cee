// The operators of the domain com.microsoft that optimizers, quantizers and exporters write, replaced by canonical nodes at import. One
// row of the table (table.cc) and one file for each.
#pragma once

#include <span>
#include <string_view>

#include "common/ops/op_table.h"
#include "stages/preprocess/onnx/microsoft/call.h"

namespace sluice {

struct MicrosoftRow {
  std::string_view name;
  std::string_view inputs;   // names in order; '?' behind a name: may be absent; a name "...": any number of further ones
  std::string_view outputs;  // the same
  std::span<const AttributeRow> attributes;
  Result<void> (*expand)(MicrosoftCall& call);
  bool also_plain = false;  // exporters write it without a domain too
};

// Null: not of com.microsoft, or not in the table.
const MicrosoftRow* find_microsoft_operator(const onnx::NodeProto& node);
// In the graph or in bodies below it. Some forms are told by ranks, so types are then inferred while importing.
bool has_microsoft_operators(const onnx::GraphProto& graph);

// Checks inputs, outputs and attributes against the row, then fills call.results. What a row cannot express is one error (kUnsupportedOp
// or kBadModel) that names node and form.
Result<void> expand_microsoft(MicrosoftCall& call, const MicrosoftRow& row);

Result<void> expand_attention(MicrosoftCall& call);
Result<void> expand_bias_gelu(MicrosoftCall& call);
Result<void> expand_dequantize_linear(MicrosoftCall& call);
Result<void> expand_dynamic_quantize_matmul(MicrosoftCall& call);
Result<void> expand_embed_layer_normalization(MicrosoftCall& call);
Result<void> expand_fast_gelu(MicrosoftCall& call);
Result<void> expand_fused_conv(MicrosoftCall& call);
Result<void> expand_fused_gemm(MicrosoftCall& call);
Result<void> expand_fused_matmul(MicrosoftCall& call);
Result<void> expand_gelu(MicrosoftCall& call);
Result<void> expand_group_query_attention(MicrosoftCall& call);
Result<void> expand_layer_normalization(MicrosoftCall& call);
Result<void> expand_matmul_n_bits(MicrosoftCall& call);
Result<void> expand_multi_head_attention(MicrosoftCall& call);
Result<void> expand_qattention(MicrosoftCall& call);
Result<void> expand_qlinear_add(MicrosoftCall& call);
Result<void> expand_qlinear_average_pool(MicrosoftCall& call);
Result<void> expand_qlinear_concat(MicrosoftCall& call);
Result<void> expand_qlinear_global_average_pool(MicrosoftCall& call);
Result<void> expand_qlinear_leaky_relu(MicrosoftCall& call);
Result<void> expand_qlinear_mul(MicrosoftCall& call);
Result<void> expand_qlinear_sigmoid(MicrosoftCall& call);
Result<void> expand_qlinear_softmax(MicrosoftCall& call);
Result<void> expand_quantize_linear(MicrosoftCall& call);
Result<void> expand_quick_gelu(MicrosoftCall& call);
Result<void> expand_rotary_embedding(MicrosoftCall& call);
Result<void> expand_simplified_layer_normalization(MicrosoftCall& call);
Result<void> expand_skip_layer_normalization(MicrosoftCall& call);
Result<void> expand_skip_simplified_layer_normalization(MicrosoftCall& call);

}  // namespace sluice
