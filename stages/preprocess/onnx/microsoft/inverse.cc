// Inverse is that of square matrices, which ONNX does not have.
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

Result<void> expand_inverse(ExpandCall& call) {
  call.results[0] = call.add(Op::kInverse, {call.input(0)});
  return {};
}

}  // namespace sluice
