// DynamicSlice has the form that Slice has had since starts, ends and axes are inputs, without
// steps.
#include "stages/preprocess/onnx/experimental/operators.h"

namespace sluice {

Result<void> expand_dynamic_slice(ExpandCall& call) {
  call.results[0] = call.add(Op::kSlice, call.inputs);
  return {};
}

}  // namespace sluice
