// QuickGelu computes x * sigmoid(alpha * x).
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

Result<void> expand_quick_gelu(ExpandCall& call) {
  call.results[0] = call.add(Op::kSwish, {call.input(0)},
                             {{"alpha", call.get(microsoft_attributes::QuickGelu::alpha)}});
  return {};
}

}  // namespace sluice
