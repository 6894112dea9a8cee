// FusedGemm computes activation(Gemm(A, B, C)).
#include "stages/preprocess/onnx/microsoft/activation.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

Result<void> expand_fused_gemm(ExpandCall& call) {
  Node& node = call.add_node(Op::kGemm, call.inputs, 1);
  call.copy_attributes(node, {"alpha", "beta", "transA", "transB"});
  const std::string name = call.string_attribute("activation", "");
  SLUICE_ASSIGN(Value * result, add_activation(call, &node.output(), name, {}));
  for (const std::string_view parameter : {"alpha", "beta", "gamma"}) {
    const std::string given = fmt::format("activation_{}", parameter);
    if (call.has(given) && activation_takes(name, parameter))
      result->producer()->set_attribute(parameter, call.float_attribute(given, 0));
  }
  call.results[0] = result;
  return {};
}

}  // namespace sluice
