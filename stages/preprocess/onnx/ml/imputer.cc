// Imputer replaces elements that are equal to one number, or NaN, by another one, the same for all
// columns or one for each.
#include <cmath>

#include "common/base/dtype.h"
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {

Result<void> expand_imputer(ExpandCall& call) {
  SLUICE_ASSIGN(const DType dtype, call.dtype(0));
  Value* x = call.input(0);
  const bool is_float = dtype_is_float(dtype);
  const char* wanted = is_float ? "imputed_value_floats" : "imputed_value_int64s";
  Value* imputed = is_float ? call.floats(call.floats_attribute(wanted))
                            : call.ints(call.ints_attribute(wanted));
  if (imputed->type().element_count() == 0)
    return call.bad("attribute '{}' is absent or empty", wanted);
  Value* replaced = nullptr;
  if (is_float && std::isnan(call.float_attribute("replaced_value_float", 0))) {
    replaced = call.add(Op::kIsNaN, {x});
  } else if (is_float) {
    replaced =
        call.add(Op::kEqual, {x, call.number(call.float_attribute("replaced_value_float", 0), x)});
  } else {
    replaced =
        call.add(Op::kEqual, {x, call.int_like(call.int_attribute("replaced_value_int64", 0), x)});
  }
  call.results[0] = call.add(Op::kWhere, {replaced, call.add(Op::kCastLike, {imputed, x}), x});
  return {};
}

}  // namespace sluice
