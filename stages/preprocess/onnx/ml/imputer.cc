// Imputer replaces elements that are equal to one number, or NaN, by another one, the same for all
// columns or one for each.
#include <cmath>

#include "common/base/dtype.h"
#include "stages/preprocess/onnx/ml/attributes.h"
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {

using ImputerAttributes = ml_attributes::Imputer;

Result<void> expand_imputer(ExpandCall& call) {
  SLUICE_ASSIGN(const DType dtype, call.dtype(0));
  Value* x = call.input(0);
  const bool is_float = dtype_is_float(dtype);
  Value* imputed = is_float ? call.floats(call.get(ImputerAttributes::imputed_value_floats))
                            : call.ints(call.get(ImputerAttributes::imputed_value_int64s));
  if (imputed->type().element_count() == 0) {
    return call.bad("attribute '{}' is absent or empty",
                    is_float ? ImputerAttributes::imputed_value_floats.name
                             : ImputerAttributes::imputed_value_int64s.name);
  }
  Value* replaced = nullptr;
  if (is_float && std::isnan(call.get(ImputerAttributes::replaced_value_float))) {
    replaced = call.add(Op::kIsNaN, {x});
  } else if (is_float) {
    replaced = call.add(Op::kEqual,
                        {x, call.number(call.get(ImputerAttributes::replaced_value_float), x)});
  } else {
    replaced = call.add(Op::kEqual,
                        {x, call.int_like(call.get(ImputerAttributes::replaced_value_int64), x)});
  }
  call.results[0] = call.add(Op::kWhere, {replaced, call.add(Op::kCastLike, {imputed, x}), x});
  return {};
}

}  // namespace sluice
