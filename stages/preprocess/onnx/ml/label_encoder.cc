// LabelEncoder maps each element by a table. Version 1 has one list of strings, whose positions are
// the numbers; version 2 lists of three kinds; version 4 tensors too.
#include <numeric>

#include "common/base/dtype.h"
#include "stages/preprocess/onnx/ml/attributes.h"
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {
namespace {

using LabelEncoderAttributes = ml_attributes::LabelEncoder;

// The attributes one of which holds the keys, or the values.
struct ListAttributes {
  TensorAttribute tensor;
  StringsAttribute strings;
  IntsAttribute ints;
  FloatsAttribute floats;
};
constexpr ListAttributes kKeys{
    LabelEncoderAttributes::keys_tensor, LabelEncoderAttributes::keys_strings,
    LabelEncoderAttributes::keys_int64s, LabelEncoderAttributes::keys_floats};
constexpr ListAttributes kValues{
    LabelEncoderAttributes::values_tensor, LabelEncoderAttributes::values_strings,
    LabelEncoderAttributes::values_int64s, LabelEncoderAttributes::values_floats};

Result<Value*> list_of(ExpandCall& call, const ListAttributes& of) {
  if (call.has(of.tensor)) return call.tensor(of.tensor);
  if (call.has(of.strings)) return call.strings(call.get(of.strings));
  if (call.has(of.ints)) return call.ints(call.get(of.ints));
  if (call.has(of.floats)) return call.floats(call.get(of.floats));
  return call.bad("it has no attribute '{}', '{}', '{}' or '{}'", of.tensor.name, of.strings.name,
                  of.ints.name, of.floats.name);
}

// Returns the default for elements without a key.
Result<Value*> default_like(ExpandCall& call, Value* values) {
  if (call.has(LabelEncoderAttributes::default_tensor))
    return call.tensor(LabelEncoderAttributes::default_tensor);
  const DType dtype = values->type().dtype;
  if (dtype == DType::kString)
    return call.strings({call.get(LabelEncoderAttributes::default_string)});
  if (dtype == DType::kI64) return call.ints({call.get(LabelEncoderAttributes::default_int64)});
  if (dtype_is_float(dtype))
    return call.number(call.get(LabelEncoderAttributes::default_float), values);
  return call.int_like(call.get(LabelEncoderAttributes::default_int64), values);
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
  const std::vector<std::string> texts = call.get(LabelEncoderAttributes::classes_strings);
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
  if (call.has(LabelEncoderAttributes::classes_strings)) return expand_classes(call);
  SLUICE_ASSIGN(Value * keys, list_of(call, kKeys));
  SLUICE_ASSIGN(Value * values, list_of(call, kValues));
  SLUICE_ASSIGN(Value * other, default_like(call, values));
  return add_encoder(call, keys, values, other);
}

}  // namespace sluice
