// CategoryMapper maps strings to numbers, or back, as a LabelEncoder.
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {

Result<void> expand_category_mapper(ExpandCall& call) {
  SLUICE_ASSIGN(const DType dtype, call.dtype(0));
  Value* numbers = call.ints(call.ints_attribute("cats_int64s"));
  Value* texts = call.strings(call.strings_attribute("cats_strings"));
  if (dtype == DType::kString) {
    Value* other = call.ints({call.int_attribute("default_int64", -1)});
    call.results[0] = call.add(Op::kLabelEncoder, {call.input(0), texts, numbers, other});
  } else {
    Value* other = call.strings({call.string_attribute("default_string", "_Unused")});
    call.results[0] = call.add(Op::kLabelEncoder, {call.input(0), numbers, texts, other});
  }
  return {};
}

}  // namespace sluice
