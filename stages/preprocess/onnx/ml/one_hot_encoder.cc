// OneHotEncoder appends an axis of categories. Numbers are compared as integers.
#include "stages/preprocess/onnx/ml/attributes.h"
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {

using OneHotEncoderAttributes = ml_attributes::OneHotEncoder;

Result<void> expand_one_hot_encoder(ExpandCall& call) {
  SLUICE_ASSIGN(const DType dtype, call.dtype(0));
  const bool is_text = dtype == DType::kString;
  if (is_text ? !call.has(OneHotEncoderAttributes::cats_strings)
              : !call.has(OneHotEncoderAttributes::cats_int64s)) {
    return call.bad("attribute '{}' is absent", is_text
                                                    ? OneHotEncoderAttributes::cats_strings.name
                                                    : OneHotEncoderAttributes::cats_int64s.name);
  }
  Value* categories = is_text ? call.strings(call.get(OneHotEncoderAttributes::cats_strings))
                              : call.ints(call.get(OneHotEncoderAttributes::cats_int64s));
  Value* x = is_text ? call.input(0) : call.cast(call.input(0), DType::kI64);
  call.results[0] = call.add(Op::kOneHotEncoder, {x, categories},
                             {{"zeros", call.get(OneHotEncoderAttributes::zeros)}});
  return {};
}

}  // namespace sluice
