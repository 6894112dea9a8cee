// CategoryMapper maps strings to numbers, or back, as a LabelEncoder.
#include "stages/preprocess/onnx/ml/attributes.h"
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {

using CategoryMapperAttributes = ml_attributes::CategoryMapper;

Result<void> expand_category_mapper(ExpandCall& call) {
  SLUICE_ASSIGN(const DType dtype, call.dtype(0));
  Value* numbers = call.ints(call.get(CategoryMapperAttributes::cats_int64s));
  Value* texts = call.strings(call.get(CategoryMapperAttributes::cats_strings));
  if (dtype == DType::kString) {
    Value* other = call.ints({call.get(CategoryMapperAttributes::default_int64)});
    call.results[0] = call.add(Op::kLabelEncoder, {call.input(0), texts, numbers, other});
  } else {
    Value* other = call.strings({call.get(CategoryMapperAttributes::default_string)});
    call.results[0] = call.add(Op::kLabelEncoder, {call.input(0), numbers, texts, other});
  }
  return {};
}

}  // namespace sluice
