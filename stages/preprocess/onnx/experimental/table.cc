#include <algorithm>

#include "stages/preprocess/onnx/experimental/operators.h"

namespace sluice {
namespace {

using enum AttributeKind;

constexpr AttributeRow kAffine[] = {{"alpha", kFloat}, {"beta", kFloat}};
constexpr AttributeRow kAlphaAndBeta[] = {{"alpha", kFloat, true}, {"beta", kFloat, true}};
constexpr AttributeRow kConstantFill[] = {{"dtype", kInt},
                                          {"extra_shape", kInts},
                                          {"input_as_shape", kInt},
                                          {"shape", kInts},
                                          {"value", kFloat}};
constexpr AttributeRow kCrop[] = {{"border", kInts, true}, {"scale", kInts}};
constexpr AttributeRow kGivenTensorFill[] = {
    {"extra_shape", kInts}, {"input_as_shape", kInt}, {"shape", kInts}, {"values", kFloats}};
constexpr AttributeRow kGruUnit[] = {{"drop_states", kInt}};
constexpr AttributeRow kImageScaler[] = {{"bias", kFloats}, {"scale", kFloat}};
constexpr AttributeRow kScale[] = {{"scale", kFloat}};

constexpr ExpandRow kRows[] = {
    {"Affine", "X", "Y", kAffine, expand_affine},
    {"ConstantFill", "input?", "output", kConstantFill, expand_constant_fill},
    {"Crop", "input", "output", kCrop, expand_crop},
    {"DynamicSlice", "data starts ends axes?", "output", {}, expand_dynamic_slice},
    {"GRUUnit", "hidden_prev gates seq_lengths t", "hidden", kGruUnit, expand_gru_unit},
    {"GivenTensorFill", "shape?", "X", kGivenTensorFill, expand_given_tensor_fill},
    {"ImageScaler", "input", "output", kImageScaler, expand_image_scaler},
    {"ParametricSoftplus", "X", "Y", kAlphaAndBeta, expand_parametric_softplus},
    {"Scale", "input", "output", kScale, expand_scale},
    {"ScaledTanh", "input", "output", kAlphaAndBeta, expand_scaled_tanh},
};
static_assert(std::is_sorted(std::begin(kRows), std::end(kRows),
                             [](const auto& a, const auto& b) { return a.name < b.name; }));

}  // namespace

const ExpandRow* find_experimental_operator(const onnx::NodeProto& node) {
  if (!node.domain().empty() && node.domain() != "ai.onnx") return nullptr;
  const auto* row =
      std::ranges::lower_bound(kRows, node.op_type(), std::ranges::less(), &ExpandRow::name);
  return row == std::end(kRows) || row->name != node.op_type() ? nullptr : row;
}

}  // namespace sluice
