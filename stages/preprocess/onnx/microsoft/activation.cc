#include "stages/preprocess/onnx/microsoft/activation.h"

#include <algorithm>

#include "common/ops/attributes.h"

namespace sluice {
namespace {

struct ActivationRow {
  std::string_view name;
  Op op;
  std::vector<FloatAttribute> parameters;  // attributes of the op
};

const std::vector<ActivationRow>& activations() {
  static const std::vector<ActivationRow> rows = {
      {"Celu", Op::kCelu, {attributes::Celu::alpha}},
      {"Elu", Op::kElu, {attributes::Elu::alpha}},
      {"Gelu", Op::kGelu, {}},
      {"HardSigmoid",
       Op::kHardSigmoid,
       {attributes::HardSigmoid::alpha, attributes::HardSigmoid::beta}},
      {"HardSwish", Op::kHardSwish, {}},
      {"LeakyRelu", Op::kLeakyRelu, {attributes::LeakyRelu::alpha}},
      {"Relu", Op::kRelu, {}},
      {"Selu", Op::kSelu, {attributes::Selu::alpha, attributes::Selu::gamma}},
      {"Sigmoid", Op::kSigmoid, {}},
      {"Softplus", Op::kSoftplus, {}},
      {"Softsign", Op::kSoftsign, {}},
      {"Tanh", Op::kTanh, {}},
      {"ThresholdedRelu", Op::kThresholdedRelu, {attributes::ThresholdedRelu::alpha}},
  };
  return rows;
}

}  // namespace

bool activation_takes(const std::string& name, const FloatAttribute& parameter) {
  const auto row = std::ranges::find(activations(), name, &ActivationRow::name);
  return row != activations().end() &&
         std::ranges::count(row->parameters, parameter.name, &FloatAttribute::name) > 0;
}

Result<Value*> add_activation(ExpandCall& call, Value* x, const std::string& name,
                              const std::vector<float>& parameters) {
  if (name.empty()) return x;
  if (name == "Clip") {
    Value* low = !parameters.empty() ? call.number(parameters[0], call.input(0)) : nullptr;
    Value* high = parameters.size() > 1 ? call.number(parameters[1], call.input(0)) : nullptr;
    return call.add(Op::kClip, {x, low, high});
  }
  const auto row = std::ranges::find(activations(), name, &ActivationRow::name);
  if (row == activations().end()) return call.unsupported("activation '{}' is not known", name);
  Node& node = call.add_node(row->op, {x}, 1);
  for (size_t i = 0; i < std::min(parameters.size(), row->parameters.size()); ++i)
    node.set(row->parameters[i], parameters[i]);
  return &node.output();
}

}  // namespace sluice
