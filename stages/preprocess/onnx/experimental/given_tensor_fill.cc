// GivenTensorFill puts the numbers of an attribute in a shape.
#include "common/base/dtype.h"
#include "stages/preprocess/onnx/experimental/attributes.h"
#include "stages/preprocess/onnx/experimental/fill_shape.h"
#include "stages/preprocess/onnx/experimental/operators.h"

namespace sluice {

Result<void> expand_given_tensor_fill(ExpandCall& call) {
  SLUICE_ASSIGN(Value * shape, fill_shape(call));
  Value* values = call.floats(call.get(experimental_attributes::GivenTensorFill::values));
  if (call.input(0) != nullptr) {
    SLUICE_ASSIGN(const DType dtype, call.dtype(0));
    if (dtype_is_float(dtype)) values = call.cast(values, dtype);
  }
  call.results[0] = call.add(Op::kReshape, {values, shape}, {{"allowzero", int64_t{1}}});
  return {};
}

}  // namespace sluice
