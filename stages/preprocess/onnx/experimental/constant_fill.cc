// ConstantFill makes a tensor of one number; the operators that fill a tensor share its shape.
#include <algorithm>

#include "common/base/dtype.h"
#include "stages/preprocess/onnx/experimental/attributes.h"
#include "stages/preprocess/onnx/experimental/fill_shape.h"
#include "stages/preprocess/onnx/experimental/operators.h"

namespace sluice {
namespace {

using experimental_attributes::ConstantFill;
using experimental_attributes::Fill;

Result<std::vector<int64_t>> sizes(const ExpandCall& call, const IntsAttribute& attribute) {
  std::vector<int64_t> numbers = call.get(attribute);
  const auto bad = std::ranges::find_if(numbers, [](int64_t size) { return size < 0; });
  if (bad != numbers.end())
    return call.bad("attribute '{}' has the element {}, expected sizes from 0", attribute.name,
                    *bad);
  return numbers;
}

Result<DType> filled_dtype(const ExpandCall& call) {
  const int64_t number = call.get(ConstantFill::dtype);
  const bool is_valid =
      number >= 0 && number <= INT32_MAX && dtype_is_valid(static_cast<int>(number));
  const DType dtype = is_valid ? static_cast<DType>(number) : DType::kString;
  const bool is_number = dtype_is_float(dtype) || dtype_is_integer(dtype) || dtype == DType::kBool;
  if (is_number) return dtype;
  return call.bad(
      "attribute 'dtype' is {}, expected 1 (f32), 6 (i32), 7 (i64), 9 (bool) or another dtype of "
      "numbers",
      number);
}

}  // namespace

Result<Value*> fill_shape(ExpandCall& call) {
  SLUICE_ASSIGN(std::vector<int64_t> shape, sizes(call, Fill::shape));
  SLUICE_ASSIGN(std::vector<int64_t> extra, sizes(call, Fill::extra_shape));
  const bool as_shape = call.get(Fill::input_as_shape) != 0;
  if (call.input(0) == nullptr) {
    if (as_shape || !extra.empty())
      return call.bad("attribute '{}' needs an input", as_shape ? "input_as_shape" : "extra_shape");
    return call.ints(std::move(shape));
  }
  if (!shape.empty())
    return call.bad("attribute 'shape' stands beside an input, which says the shape");
  Value* dims =
      as_shape ? call.cast(call.input(0), DType::kI64) : call.add(Op::kShape, {call.input(0)});
  return extra.empty() ? dims : call.concat({dims, call.ints(std::move(extra))}, 0);
}

Result<void> expand_constant_fill(ExpandCall& call) {
  SLUICE_ASSIGN(const DType dtype, filled_dtype(call));
  SLUICE_ASSIGN(Value * shape, fill_shape(call));
  call.results[0] =
      call.add(Op::kExpand, {call.cast(call.number(call.get(ConstantFill::value)), dtype), shape});
  return {};
}

}  // namespace sluice
