#include <algorithm>

#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {
namespace {

using enum AttributeKind;

constexpr AttributeRow kLayerNormalization[] = {
    {"axis", kInt}, {"epsilon", kFloat}, {"stash_type", kInt}};
constexpr AttributeRow kEpsilon[] = {{"epsilon", kFloat}};
constexpr AttributeRow kEmbed[] = {{"epsilon", kFloat}, {"mask_index_type", kInt}};
constexpr AttributeRow kQuickGelu[] = {{"alpha", kFloat}};
constexpr AttributeRow kFusedMatMul[] = {{"alpha", kFloat},
                                         {"transA", kInt},
                                         {"transB", kInt},
                                         {"transBatchA", kInt},
                                         {"transBatchB", kInt}};
constexpr AttributeRow kFusedConv[] = {{"activation", kString}, {"activation_params", kFloats},
                                       {"auto_pad", kString},   {"dilations", kInts},
                                       {"group", kInt},         {"kernel_shape", kInts},
                                       {"pads", kInts},         {"strides", kInts}};
constexpr AttributeRow kFusedGemm[] = {{"activation", kString},
                                       {"activation_alpha", kFloat},
                                       {"activation_beta", kFloat},
                                       {"activation_gamma", kFloat},
                                       {"alpha", kFloat},
                                       {"beta", kFloat},
                                       {"transA", kInt},
                                       {"transB", kInt}};

constexpr AttributeRow kAttention[] = {
    {"do_rotary", kInt},         {"mask_filter_value", kFloat},
    {"num_heads", kInt, true},   {"past_present_share_buffer", kInt},
    {"qkv_hidden_sizes", kInts}, {"rotary_embedding_dim", kInt},
    {"scale", kFloat},           {"unidirectional", kInt}};
constexpr AttributeRow kQAttention[] = {{"do_rotary", kInt},
                                        {"mask_filter_value", kFloat},
                                        {"num_heads", kInt, true},
                                        {"past_present_share_buffer", kInt},
                                        {"rotary_embedding_dim", kInt},
                                        {"scale", kFloat},
                                        {"unidirectional", kInt}};
constexpr AttributeRow kDecoderMasked[] = {{"mask_filter_value", kFloat},
                                           {"num_heads", kInt, true},
                                           {"output_qk", kInt},
                                           {"past_present_share_buffer", kInt},
                                           {"scale", kFloat}};
constexpr AttributeRow kMultiHead[] = {{"mask_filter_value", kFloat},
                                       {"num_heads", kInt, true},
                                       {"scale", kFloat},
                                       {"unidirectional", kInt}};
constexpr AttributeRow kGroupQuery[] = {{"causal", kInt},
                                        {"do_rotary", kInt},
                                        {"k_quant_type", kString},
                                        {"kv_cache_bit_width", kInt},
                                        {"kv_num_heads", kInt, true},
                                        {"local_window_size", kInt},
                                        {"num_heads", kInt, true},
                                        {"qk_norm_epsilon", kFloat},
                                        {"qk_output", kInt},
                                        {"rotary_interleaved", kInt},
                                        {"scale", kFloat},
                                        {"sliding_window_cache", kInt},
                                        {"smooth_softmax", kInt},
                                        {"softcap", kFloat},
                                        {"v_quant_type", kString}};
constexpr AttributeRow kRotary[] = {{"interleaved", kInt},
                                    {"is_packed_batching", kInt},
                                    {"num_heads", kInt},
                                    {"rotary_embedding_dim", kInt},
                                    {"scale", kFloat}};
constexpr AttributeRow kNBits[] = {{"K", kInt, true},          {"N", kInt, true},
                                   {"accuracy_level", kInt},   {"bits", kInt},
                                   {"block_size", kInt, true}, {"weight_prepacked", kInt}};
constexpr AttributeRow kAveragePool[] = {
    {"auto_pad", kString},       {"ceil_mode", kInt},           {"channels_last", kInt},
    {"count_include_pad", kInt}, {"kernel_shape", kInts, true}, {"pads", kInts},
    {"strides", kInts}};
constexpr AttributeRow kChannelsLast[] = {{"channels_last", kInt}};
constexpr AttributeRow kAxisRequired[] = {{"axis", kInt, true}};
constexpr AttributeRow kAlpha[] = {{"alpha", kFloat}};
constexpr AttributeRow kSoftmax[] = {{"axis", kInt}, {"opset", kInt, true}};
constexpr AttributeRow kQuantize[] = {
    {"axis", kInt}, {"block_size", kInt}, {"output_dtype", kInt}, {"saturate", kInt}};
constexpr AttributeRow kDequantize[] = {{"axis", kInt}, {"block_size", kInt}};

constexpr ExpandRow kRows[] = {
    {"Attention", "input weights bias? mask_index? past? attention_bias? past_sequence_length?",
     "output present?", kAttention, expand_attention},
    {"BiasGelu", "A B", "C", {}, expand_bias_gelu},
    {"DecoderMaskedMultiHeadAttention",
     "query key? value? mask_index? attention_bias? past_key? past_value? past_sequence_length? "
     "beam_width? cache_indirection? bias?",
     "output present_key? present_value? qk?", kDecoderMasked,
     expand_decoder_masked_multi_head_attention},
    {"DequantizeLinear", "x x_scale x_zero_point?", "y", kDequantize, expand_dequantize_linear},
    {"DynamicQuantizeMatMul",
     "A B b_scale b_zero_point? bias?",
     "Y",
     {},
     expand_dynamic_quantize_matmul},
    {"EmbedLayerNormalization",
     "input_ids segment_ids? word_embedding position_embedding segment_embedding? gamma beta mask? "
     "position_ids?",
     "output mask_index? embedding_sum?", kEmbed, expand_embed_layer_normalization},
    {"FastGelu", "X bias?", "Y", {}, expand_fast_gelu},
    {"FusedConv", "X W B? Z?", "Y", kFusedConv, expand_fused_conv},
    {"FusedGemm", "A B C?", "Y", kFusedGemm, expand_fused_gemm},
    {"FusedMatMul", "A B", "Y", kFusedMatMul, expand_fused_matmul},
    {"Gelu", "X", "Y", {}, expand_gelu},
    {"GroupQueryAttention",
     "query key? value? past_key? past_value? seqlens_k total_sequence_length cos_cache? "
     "sin_cache? position_ids? attention_bias? "
     "head_sink? "
     "k_scale? v_scale? q_norm_weight? k_norm_weight?",
     "output present_key? present_value? output_qk?", kGroupQuery, expand_group_query_attention},
    {"LayerNormalization", "X Scale B?", "Y Mean? InvStdDev?", kLayerNormalization,
     expand_layer_normalization},
    {"MatMulNBits", "A B scales zero_points? g_idx? bias?", "Y", kNBits, expand_matmul_n_bits},
    {"MultiHeadAttention",
     "query key? value? bias? key_padding_mask? attention_bias? past_key? past_value? "
     "past_sequence_length? cache_indirection?",
     "output present_key? present_value? qk?", kMultiHead, expand_multi_head_attention},
    {"QAttention",
     "input weight bias input_scale weight_scale mask_index? input_zero_point? weight_zero_point? "
     "past?",
     "output present?", kQAttention, expand_qattention},
    {"QLinearAdd",
     "A A_scale A_zero_point? B B_scale B_zero_point? C_scale C_zero_point?",
     "C",
     {},
     expand_qlinear_add},
    {"QLinearAveragePool", "X x_scale x_zero_point? y_scale y_zero_point?", "Y", kAveragePool,
     expand_qlinear_average_pool},
    {"QLinearConcat", "Y_scale Y_zero_point ...", "Y", kAxisRequired, expand_qlinear_concat},
    {"QLinearGlobalAveragePool", "X x_scale x_zero_point? y_scale y_zero_point?", "Y",
     kChannelsLast, expand_qlinear_global_average_pool},
    {"QLinearLeakyRelu", "X X_scale X_zero_point? Y_scale Y_zero_point?", "Y", kAlpha,
     expand_qlinear_leaky_relu},
    {"QLinearMul",
     "A A_scale A_zero_point? B B_scale B_zero_point? C_scale C_zero_point?",
     "C",
     {},
     expand_qlinear_mul},
    {"QLinearSigmoid",
     "X X_scale X_zero_point? Y_scale Y_zero_point?",
     "Y",
     {},
     expand_qlinear_sigmoid},
    {"QLinearSoftmax", "X X_scale x_zero_point? y_scale y_zero_point?", "Y", kSoftmax,
     expand_qlinear_softmax},
    {"QuantizeLinear", "x y_scale y_zero_point?", "y", kQuantize, expand_quantize_linear},
    {"QuickGelu", "X", "Y", kQuickGelu, expand_quick_gelu},
    {"RotaryEmbedding", "input position_ids cos_cache sin_cache", "output", kRotary,
     expand_rotary_embedding},
    {"SimplifiedLayerNormalization", "X scale", "Y inv_std_var?", kLayerNormalization,
     expand_simplified_layer_normalization, true},
    {"SkipLayerNormalization", "input skip gamma beta? bias?",
     "output mean? inv_std_var? input_skip_bias_sum?", kEpsilon, expand_skip_layer_normalization},
    {"SkipSimplifiedLayerNormalization", "input skip gamma bias?",
     "output mean? inv_std_var? input_skip_bias_sum?", kEpsilon,
     expand_skip_simplified_layer_normalization},
    {"TransposeMatMul", "A B", "Y", kFusedMatMul, expand_fused_matmul},
};
static_assert(std::is_sorted(std::begin(kRows), std::end(kRows),
                             [](const auto& a, const auto& b) { return a.name < b.name; }));

}  // namespace

const ExpandRow* find_microsoft_operator(const onnx::NodeProto& node) {
  const bool is_plain = node.domain().empty() || node.domain() == "ai.onnx";
  if (!is_plain && node.domain() != "com.microsoft") return nullptr;
  const auto* row =
      std::lower_bound(std::begin(kRows), std::end(kRows), node.op_type(),
                       [](const ExpandRow& r, const std::string& name) { return r.name < name; });
  if (row == std::end(kRows) || row->name != node.op_type()) return nullptr;
  return is_plain && !row->also_plain ? nullptr : row;
}

}  // namespace sluice
