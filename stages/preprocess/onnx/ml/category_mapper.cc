// CategoryMapper maps strings to numbers, or back, as a LabelEncoder.
#include "stages/preprocess/onnx/ml/attributes.h"
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {

using Attributes = ml_attributes::CategoryMapper;

Result<void> expand_category_mapper(ExpandCall& call) {
  SLUICE_ASSIGN(const DType dtype, call.dtype(0));
  Value* numbers = call.ints(call.get(Attributes::cats_int64s));
  Value* texts = call.strings(call.get(Attributes::cats_strings));
  if (dtype == DType::kString) {
    Value* other = call.ints({call.get(Attributes::default_int64)});
    call.results[0] = call.add(Op::kLabelEncoder, {call.input(0), texts, numbers, other});
  } else {
    Value* other = call.strings({call.get(Attributes::default_string)});
    call.results[0] = call.add(Op::kLabelEncoder, {call.input(0), numbers, texts, other});
  }
  return {};
}

}  // namespace sluice
