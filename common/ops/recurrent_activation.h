// The activations of recurrent cells that ONNX names, with the defaults of the attributes
// activation_alpha and activation_beta.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

namespace sluice {

struct ActivationRow {
  std::string_view name;
  std::optional<double> alpha, beta;  // absent: the activation takes none
};

inline constexpr ActivationRow kActivationRows[] = {
    {"Affine", 1, 0},     {"Elu", 1, {}},       {"HardSigmoid", 0.2, 0.5},  {"LeakyRelu", 0.01, {}},
    {"Relu", {}, {}},     {"ScaledTanh", 1, 1}, {"Sigmoid", {}, {}},        {"Softplus", {}, {}},
    {"Softsign", {}, {}}, {"Tanh", {}, {}},     {"ThresholdedRelu", 1, {}},
};

// Returns null for another name.
inline const ActivationRow* find_activation(std::string_view name) {
  const auto* row = std::ranges::find(kActivationRows, name, &ActivationRow::name);
  return row == std::end(kActivationRows) ? nullptr : row;
}

}  // namespace sluice
