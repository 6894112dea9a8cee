// Maps: keys and values are tensors of one dim.
#include <cstring>
#include <map>
#include <optional>

#include "common/eval/kernels.h"

namespace sluice::eval {
namespace {

EvalValue map_of(const EvalValue& keys, Tensor values) {
  EvalValue map;
  map.kind = EvalValue::Kind::kMap;
  map.elements = {keys, EvalValue::of(std::move(values))};
  return map;
}

// Returns the bytes of an element of a tensor of one dim, whose elements are whole bytes; equal
// elements have equal texts.
std::string_view tensor_element(const Tensor& tensor, size_t i) {
  if (tensor.dtype == DType::kString) return string_at(tensor, i);
  const size_t width = static_cast<size_t>(dtype_bits(tensor.dtype)) / 8;
  return {reinterpret_cast<const char*>(tensor.bytes.data()) + i * width, width};
}

// Returns the values at these positions, or zero or "" where there is none.
Tensor values_at(const Tensor& values, const std::vector<std::optional<size_t>>& places) {
  const std::vector<int64_t> dims = {1, static_cast<int64_t>(places.size())};
  const bool are_texts = values.dtype == DType::kString;
  std::vector<std::string> texts(are_texts ? places.size() : 0);
  Tensor picked = are_texts ? Tensor() : make_tensor(values.dtype, dims);
  for (size_t i = 0; i < places.size(); ++i) {
    if (!places[i]) continue;
    const std::string_view value = tensor_element(values, *places[i]);
    if (are_texts) {
      texts[i] = value;
    } else {
      std::memcpy(picked.bytes.data() + i * value.size(), value.data(), value.size());
    }
  }
  return are_texts ? make_string_tensor(dims, texts) : picked;
}

}  // namespace

Result<void> eval_dict_vectorizer(EvalCall& call) {
  const EvalValue* map = call.operands.size() == 2 ? call.operands[0].value : nullptr;
  if (map == nullptr || map->kind != EvalValue::Kind::kMap)
    return call.bad_value("input 0 is no map");
  const Tensor &keys = *map->elements[0].tensor, &values = *map->elements[1].tensor;
  const EvalValue vocabulary = value_of(call.operands[1]);
  if (vocabulary.tensor->dtype != keys.dtype)
    return call.bad_value("the keys are of {}", dtype_name(keys.dtype));
  std::map<std::string_view, size_t> known;
  for (size_t i = 0; i < static_cast<size_t>(keys.dims[0]); ++i) known[tensor_element(keys, i)] = i;
  std::vector<std::optional<size_t>> places(static_cast<size_t>(call.input(1).count));
  for (size_t i = 0; i < places.size(); ++i) {
    const auto found = known.find(tensor_element(*vocabulary.tensor, i));
    if (found != known.end()) places[i] = found->second;
  }
  call.set_value(0, EvalValue::of(values_at(values, places)));
  return {};
}

// Makes one map for each row; all maps share the keys.
Result<void> eval_zip_map(EvalCall& call) {
  const Input &x = call.input(0), &labels = call.input(1);
  const int64_t rows = x.rank() == 2 ? x.dims[0] : 1;
  const bool fits =
      x.rank() >= 1 && x.rank() <= 2 && labels.rank() == 1 && x.dims.back() == labels.count;
  if (x.dtype != DType::kF32) return call.unsupported(x.dtype);
  if (!fits)
    return call.bad_shape("{} keys do not fit the shape {}", labels.count, dims_text(x.dims));
  const EvalValue keys = value_of(call.operands[1]);
  EvalValue maps;
  maps.kind = EvalValue::Kind::kSequence;
  maps.elements.reserve(static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row) {
    Tensor values = make_tensor(DType::kF32, {labels.count});
    if (labels.count > 0)
      std::memcpy(values.bytes.data(), x.as<float>() + row * labels.count, values.bytes.size());
    maps.elements.push_back(map_of(keys, std::move(values)));
  }
  call.set_value(0, std::move(maps));
  return {};
}

}  // namespace sluice::eval
