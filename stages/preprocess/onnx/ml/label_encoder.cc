// LabelEncoder maps each element by a table. Version 1 has one list of strings, whose positions are
// the numbers; version 2 lists of three kinds; version 4 tensors too.
#include <numeric>

#include "common/base/dtype.h"
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {
namespace {

// Returns the list or tensor "<name>_…"; null when there is none.
Result<Value*> list_of(ExpandCall& call, const std::string& name) {
  if (call.has(name + "_tensor")) return call.tensor_attribute(name + "_tensor");
  if (call.has(name + "_strings")) return call.strings(call.strings_attribute(name + "_strings"));
  if (call.has(name + "_int64s")) return call.ints(call.ints_attribute(name + "_int64s"));
  if (call.has(name + "_floats")) return call.floats(call.floats_attribute(name + "_floats"));
  return call.bad("it has no attribute '{0}_tensor', '{0}_strings', '{0}_int64s' or '{0}_floats'",
                  name);
}

// Returns the default for elements without a key.
Result<Value*> default_like(ExpandCall& call, Value* values) {
  if (call.has("default_tensor")) return call.tensor_attribute("default_tensor");
  const DType dtype = values->type().dtype;
  if (dtype == DType::kString)
    return call.strings({call.string_attribute("default_string", "_Unused")});
  if (dtype == DType::kI64) return call.ints({call.int_attribute("default_int64", -1)});
  if (dtype_is_float(dtype))
    return call.number(call.float_attribute("default_float", -0.0f), values);
  return call.int_like(call.int_attribute("default_int64", -1), values);
}

Result<void> add_encoder(ExpandCall& call, Value* keys, Value* values, Value* other) {
  SLUICE_ASSIGN(const DType dtype, call.dtype(0));
  const DType key = keys->type().dtype, value = values->type().dtype;
  if (key != dtype)
    return call.bad("its keys are {}, but input 0 'X' is {}", dtype_name(key), dtype_name(dtype));
  if (keys->type().element_count() != values->type().element_count()) {
    return call.bad("it has {} keys, but {} values", keys->type().element_count().value_or(0),
                    values->type().element_count().value_or(0));
  }
  if (other->type().is_tensor() && other->type().dtype != DType::kUndefined &&
      other->type().dtype != value) {
    return call.bad("its values are {}, but its default is {}", dtype_name(value),
                    dtype_name(other->type().dtype));
  }
  call.results[0] = call.add(Op::kLabelEncoder, {call.input(0), keys, values, other});
  return {};
}

Result<void> expand_classes(ExpandCall& call) {
  SLUICE_ASSIGN(const DType dtype, call.dtype(0));
  const std::vector<std::string> texts = call.strings_attribute("classes_strings");
  std::vector<int64_t> numbers(texts.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  const bool from_text = dtype == DType::kString;
  Value* keys = from_text ? call.strings(texts) : call.ints(numbers);
  Value* values = from_text ? call.ints(numbers) : call.strings(texts);
  SLUICE_ASSIGN(Value * other, default_like(call, values));
  return add_encoder(call, keys, values, other);
}

}  // namespace

Result<void> expand_label_encoder(ExpandCall& call) {
  if (call.has("classes_strings")) return expand_classes(call);
  SLUICE_ASSIGN(Value * keys, list_of(call, "keys"));
  SLUICE_ASSIGN(Value * values, list_of(call, "values"));
  SLUICE_ASSIGN(Value * other, default_like(call, values));
  return add_encoder(call, keys, values, other);
}

}  // namespace sluice
