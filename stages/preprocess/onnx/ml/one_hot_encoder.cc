// OneHotEncoder appends an axis of categories. Numbers are compared as integers.
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {

Result<void> expand_one_hot_encoder(ExpandCall& call) {
  SLUICE_ASSIGN(const DType dtype, call.dtype(0));
  const bool is_text = dtype == DType::kString;
  const char* name = is_text ? "cats_strings" : "cats_int64s";
  if (!call.has(name)) return call.bad("attribute '{}' is absent", name);
  Value* categories =
      is_text ? call.strings(call.strings_attribute(name)) : call.ints(call.ints_attribute(name));
  Value* x = is_text ? call.input(0) : call.cast(call.input(0), DType::kI64);
  call.results[0] =
      call.add(Op::kOneHotEncoder, {x, categories}, {{"zeros", call.int_attribute("zeros", 1)}});
  return {};
}

}  // namespace sluice
