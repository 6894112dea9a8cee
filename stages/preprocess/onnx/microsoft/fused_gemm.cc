// FusedGemm computes activation(Gemm(A, B, C)).
#include <utility>

#include "common/ops/attributes.h"
#include "stages/preprocess/onnx/microsoft/activation.h"
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {
namespace {

using FusedGemmAttributes = microsoft_attributes::FusedGemm;

// Attributes for the activation, and the names that activations have them under.
constexpr std::pair<FloatAttribute, FloatAttribute> kParameters[] = {
    {FusedGemmAttributes::activation_alpha, attributes::HardSigmoid::alpha},
    {FusedGemmAttributes::activation_beta, attributes::HardSigmoid::beta},
    {FusedGemmAttributes::activation_gamma, attributes::Selu::gamma},
};

}  // namespace

Result<void> expand_fused_gemm(ExpandCall& call) {
  Node& node = call.add_node(Op::kGemm, call.inputs, 1);
  call.copy(node, FusedGemmAttributes::alpha, FusedGemmAttributes::beta,
            FusedGemmAttributes::transA, FusedGemmAttributes::transB);
  const std::string name = call.get(FusedGemmAttributes::activation);
  SLUICE_ASSIGN(Value * result, add_activation(call, &node.output(), name, {}));
  for (const auto& [given, parameter] : kParameters) {
    if (call.has(given) && activation_takes(name, parameter))
      result->producer()->set(parameter, call.get(given));
  }
  call.results[0] = result;
  return {};
}

}  // namespace sluice
