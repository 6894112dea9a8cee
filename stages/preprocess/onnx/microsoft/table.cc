#include <algorithm>

#include "common/ops/attribute_rows.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {
namespace attribute_rows::microsoft {

#include "common/ops/attribute_rows.inc"
#include "stages/preprocess/onnx/microsoft/attributes.def"

}  // namespace attribute_rows::microsoft

namespace {

namespace rows = attribute_rows::microsoft;

constexpr ExpandRow kRows[] = {
    {"Attention", "input weights bias? mask_index? past? attention_bias? past_sequence_length?",
     "output present?", rows::Attention, expand_attention},
    {"BiasGelu", "A B", "C", {}, expand_bias_gelu},
    {"CDist", "A B", "C", rows::CDist, expand_cdist},
    {"DecoderMaskedMultiHeadAttention",
     "query key? value? mask_index? attention_bias? past_key? past_value? past_sequence_length? "
     "beam_width? cache_indirection? bias?",
     "output present_key? present_value? qk?", rows::DecoderMaskedMultiHeadAttention,
     expand_decoder_masked_multi_head_attention},
    {"DequantizeLinear", "x x_scale x_zero_point?", "y", rows::DequantizeLinear,
     expand_dequantize_linear},
    {"DynamicQuantizeLSTM",
     "X W R B? sequence_lens? initial_h? initial_c? P? W_scale W_zero_point R_scale R_zero_point",
     "Y? Y_h? Y_c?", rows::DynamicQuantizeLSTM, expand_dynamic_quantize_lstm},
    {"DynamicQuantizeMatMul",
     "A B b_scale b_zero_point? bias?",
     "Y",
     {},
     expand_dynamic_quantize_matmul},
    {"EmbedLayerNormalization",
     "input_ids segment_ids? word_embedding position_embedding segment_embedding? gamma beta mask? "
     "position_ids?",
     "output mask_index? embedding_sum?", rows::EmbedLayerNormalization,
     expand_embed_layer_normalization},
    {"ExpandDims", "X axis", "Y", {}, expand_expand_dims},
    {"FastGelu", "X bias?", "Y", {}, expand_fast_gelu},
    {"FusedConv", "X W B? Z?", "Y", rows::FusedConv, expand_fused_conv},
    {"FusedGemm", "A B C?", "Y", rows::FusedGemm, expand_fused_gemm},
    {"FusedMatMul", "A B", "Y", rows::FusedMatMul, expand_fused_matmul},
    {"GatherBlockQuantized", "data indices scales zero_points?", "output",
     rows::GatherBlockQuantized, expand_gather_block_quantized},
    {"Gelu", "X", "Y", {}, expand_gelu},
    {"GridSample", "X Grid", "Y", rows::GridSample, expand_grid_sample},
    {"GroupQueryAttention",
     "query key? value? past_key? past_value? seqlens_k total_sequence_length cos_cache? "
     "sin_cache? position_ids? attention_bias? "
     "head_sink? "
     "k_scale? v_scale? q_norm_weight? k_norm_weight?",
     "output present_key? present_value? output_qk?", rows::GroupQueryAttention,
     expand_group_query_attention},
    {"Inverse", "X", "Y", {}, expand_inverse},
    {"LayerNormalization", "X Scale B?", "Y Mean? InvStdDev?", rows::LayerNormalization,
     expand_layer_normalization},
    {"MatMulIntegerToFloat",
     "A B a_scale b_scale a_zero_point? b_zero_point? bias?",
     "Y",
     {},
     expand_matmul_integer_to_float},
    {"MatMulNBits", "A B scales zero_points? g_idx? bias?", "Y", rows::MatMulNBits,
     expand_matmul_n_bits},
    {"MultiHeadAttention",
     "query key? value? bias? key_padding_mask? attention_bias? past_key? past_value? "
     "past_sequence_length? cache_indirection?",
     "output present_key? present_value? qk?", rows::MultiHeadAttention,
     expand_multi_head_attention},
    {"NhwcMaxPool", "x", "y", rows::NhwcMaxPool, expand_nhwc_max_pool},
    {"QAttention",
     "input weight bias input_scale weight_scale mask_index? input_zero_point? weight_zero_point? "
     "past?",
     "output present?", rows::QAttention, expand_qattention},
    {"QGemm", "A a_scale a_zero_point? B b_scale b_zero_point? C? y_scale? y_zero_point?", "Y",
     rows::QGemm, expand_qgemm},
    {"QLinearAdd",
     "A A_scale A_zero_point? B B_scale B_zero_point? C_scale C_zero_point?",
     "C",
     {},
     expand_qlinear_add},
    {"QLinearAveragePool", "X x_scale x_zero_point? y_scale y_zero_point?", "Y",
     rows::QLinearAveragePool, expand_qlinear_average_pool},
    {"QLinearConcat", "Y_scale Y_zero_point ...", "Y", rows::QLinearConcat, expand_qlinear_concat},
    {"QLinearGlobalAveragePool", "X x_scale x_zero_point? y_scale y_zero_point?", "Y",
     rows::QLinearGlobalAveragePool, expand_qlinear_global_average_pool},
    {"QLinearLeakyRelu", "X X_scale X_zero_point? Y_scale Y_zero_point?", "Y",
     rows::QLinearLeakyRelu, expand_qlinear_leaky_relu},
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
    {"QLinearSoftmax", "X X_scale x_zero_point? y_scale y_zero_point?", "Y", rows::QLinearSoftmax,
     expand_qlinear_softmax},
    {"QLinearWhere",
     "condition X x_scale x_zero_point? Y y_scale y_zero_point? z_scale z_zero_point?",
     "Z",
     {},
     expand_qlinear_where},
    {"QuantizeLinear", "x y_scale y_zero_point?", "y", rows::QuantizeLinear,
     expand_quantize_linear},
    {"QuickGelu", "X", "Y", rows::QuickGelu, expand_quick_gelu},
    {"RotaryEmbedding", "input position_ids cos_cache sin_cache", "output", rows::RotaryEmbedding,
     expand_rotary_embedding},
    {"SimplifiedLayerNormalization", "X scale", "Y inv_std_var?", rows::LayerNormalization,
     expand_simplified_layer_normalization, true},
    {"SkipLayerNormalization", "input skip gamma beta? bias?",
     "output mean? inv_std_var? input_skip_bias_sum?", rows::SkipLayerNormalization,
     expand_skip_layer_normalization},
    {"SkipSimplifiedLayerNormalization", "input skip gamma bias?",
     "output mean? inv_std_var? input_skip_bias_sum?", rows::SkipLayerNormalization,
     expand_skip_simplified_layer_normalization},
    {"TransposeMatMul", "A B", "Y", rows::FusedMatMul, expand_fused_matmul},
    {"Trilu", "X k?", "Y", rows::Trilu, expand_trilu},
    {"Unique", "x", "y idx? counts?", {}, expand_unique},
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
