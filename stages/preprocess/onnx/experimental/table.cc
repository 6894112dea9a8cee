#include <algorithm>

#include "common/ops/attribute_rows.h"
#include "stages/preprocess/onnx/experimental/operators.h"

namespace sluice {
namespace attribute_rows::experimental {

#include "common/ops/attribute_rows.inc"
#include "stages/preprocess/onnx/experimental/attributes.def"

}  // namespace attribute_rows::experimental

namespace {

namespace rows = attribute_rows::experimental;

constexpr ExpandRow kRows[] = {
    {"Affine", "X", "Y", rows::Affine, expand_affine},
    {"ConstantFill", "input?", "output", rows::ConstantFill, expand_constant_fill},
    {"Crop", "input", "output", rows::Crop, expand_crop},
    {"DynamicSlice", "data starts ends axes?", "output", {}, expand_dynamic_slice},
    {"GRUUnit", "hidden_prev gates seq_lengths t", "hidden", rows::GRUUnit, expand_gru_unit},
    {"GivenTensorFill", "shape?", "X", rows::GivenTensorFill, expand_given_tensor_fill},
    {"ImageScaler", "input", "output", rows::ImageScaler, expand_image_scaler},
    {"ParametricSoftplus", "X", "Y", rows::ParametricSoftplus, expand_parametric_softplus},
    {"Scale", "input", "output", rows::Scale, expand_scale},
    {"ScaledTanh", "input", "output", rows::ParametricSoftplus, expand_scaled_tanh},
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
