#include "runtime/executor/check_values.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "common/base/shape_mismatch.h"
#include "common/omfile/om_types.h"

namespace sluice {
namespace {

// Checks that the offsets ascend from 0 to the end of the text.
bool strings_fit(std::span<const std::byte> bytes, uint64_t count) {
  const uint64_t table = (count + 1) * sizeof(uint64_t);
  if (table > bytes.size()) return false;
  uint64_t before = 0;
  for (uint64_t i = 0; i <= count; ++i) {
    uint64_t offset = 0;
    std::memcpy(&offset, bytes.data() + i * sizeof(offset), sizeof(offset));
    if (offset < before || (i == 0 && offset != 0)) return false;
    before = offset;
  }
  return before == bytes.size() - table;
}

// Checks a dim against the bounds of --dim and those that the graph needs.
Result<void> check_bounds(const pb::TypeDef& type, int dim, int64_t given,
                          const std::string& input) {
  if (dim >= type.dim_low_size()) return {};
  const int64_t low = type.dim_low(dim), high = type.dim_high(dim), divisor = type.dim_divisor(dim);
  if (given >= low && given <= high && (divisor <= 1 || given % divisor == 0)) return {};
  const std::string& name = type.dim_names(dim);
  const std::string hint =
      given == 0 && low == 1
          ? fmt::format("dims begin at 1 unless the model is compiled with --dim {}=0..SIZE", name)
          : fmt::format(
                "the bound is that of --dim {0} when the model was compiled, or a node has it; the "
                "size of random inputs is given by --dim {0}=SIZE",
                name);
  return make_error(ErrorCode::kBadBinding, "dim '{}' of input '{}' is {}, the model takes {}{}",
                    name, input, given,
                    high == INT64_MAX ? fmt::format("{} and more", low)
                                      : fmt::format("{} to {}", low, high),
                    divisor > 1 ? fmt::format(", multiples of {}", divisor) : "")
      .with_hint(hint);
}

std::string tensor_text(const HostTensor& tensor) {
  return fmt::format("{} {}", dtype_name(tensor.dtype), dims_text(tensor.dims));
}

std::string maps_text(const HostValue& value) {
  const std::vector<HostTensor>& tensors = value.tensors;
  if (tensors.size() % 2 != 0)
    return fmt::format("{} tensors, which are no keys and values", tensors.size());
  std::string text = value.kind == HostValue::Kind::kMap
                         ? "a map"
                         : fmt::format("a sequence of {} maps", tensors.size() / 2);
  if (!tensors.empty())
    text += fmt::format(", keys {}, values {}", tensor_text(tensors[0]), tensor_text(tensors[1]));
  return text;
}

// Checks keys and values of one map after another: each has as many values as keys.
bool maps_fit(const pb::ModelDef& model, const pb::TypeDef& map,
              std::span<const HostTensor> tensors) {
  if (tensors.size() % 2 != 0) return false;
  const uint32_t value = model.types(static_cast<int>(map.element())).dtype();
  for (size_t i = 0; i < tensors.size(); i += 2) {
    const HostTensor &keys = tensors[i], &values = tensors[i + 1];
    const bool fits = static_cast<uint32_t>(keys.dtype) == map.dtype() &&
                      static_cast<uint32_t>(values.dtype) == value;
    if (!fits || keys.dims.size() != 1 || keys.dims != values.dims) return false;
  }
  return true;
}

}  // namespace

bool fits(const pb::TypeDef& type, const HostTensor& tensor) {
  return tensor_fits(type, static_cast<uint32_t>(tensor.dtype), tensor.dims);
}

bool fits(const pb::ModelDef& model, uint32_t index, const HostValue& value) {
  const pb::TypeDef& type = model.types(static_cast<int>(index));
  if (type.kind() == pb::VALUE_OPTIONAL)
    return value.kind == HostValue::Kind::kNone || fits(model, type.element(), value);
  if (type.kind() == pb::VALUE_TENSOR) {
    return value.kind == HostValue::Kind::kTensor && value.tensors.size() == 1 &&
           fits(type, value.tensors[0]);
  }
  if (type.kind() == pb::VALUE_MAP) {
    return value.kind == HostValue::Kind::kMap && value.tensors.size() == 2 &&
           maps_fit(model, type, value.tensors);
  }
  const pb::TypeDef& element = model.types(static_cast<int>(type.element()));
  if (element.kind() == pb::VALUE_MAP) {
    const bool is_empty = value.kind == HostValue::Kind::kSequence && value.tensors.empty();
    return is_empty ||
           (value.kind == HostValue::Kind::kMaps && maps_fit(model, element, value.tensors));
  }
  return value.kind == HostValue::Kind::kSequence && element.kind() == pb::VALUE_TENSOR &&
         std::all_of(value.tensors.begin(), value.tensors.end(),
                     [&](const HostTensor& tensor) { return fits(element, tensor); });
}

std::string text_of(const HostValue& value) {
  using enum HostValue::Kind;
  if (value.kind == kMap || value.kind == kMaps) return maps_text(value);
  if (value.kind == kNone || (value.kind == kTensor && value.tensors.size() != 1)) {
    return value.tensors.empty() ? "nothing" : fmt::format("{} tensors", value.tensors.size());
  }
  const std::string text =
      value.kind == kSequence ? fmt::format("a sequence of {}", value.tensors.size()) : "";
  return value.tensors.empty()
             ? text
             : text + (text.empty() ? "" : ", the first ") + tensor_text(value.tensors[0]);
}

std::string shape_mismatch_text(const pb::ModelDef& model, uint32_t index, const HostValue& value) {
  const pb::TypeDef& type = model.types(static_cast<int>(index));
  if (type.kind() != pb::VALUE_TENSOR || value.tensors.size() != 1) return {};
  const HostTensor& tensor = value.tensors[0];
  if (type.unranked() || static_cast<uint32_t>(tensor.dtype) != type.dtype()) return {};
  const std::string where =
      shape_mismatch({type.dims().data(), static_cast<size_t>(type.dims_size())}, tensor.dims);
  return where.empty() ? where : ": " + where;
}

Result<void> check_tensor(const HostTensor& tensor, const std::string& input) {
  if (!dtype_is_valid(static_cast<int>(tensor.dtype)))
    return make_error(ErrorCode::kBadBinding, "input '{}': {} is no dtype", input,
                      static_cast<int>(tensor.dtype));
  const auto count = element_count(tensor.dims);
  if (!count)
    return make_error(ErrorCode::kBadBinding, "input '{}' has the impossible shape {}", input,
                      dims_text(tensor.dims));
  if (tensor.bytes.data() == nullptr && !tensor.bytes.empty())
    return make_error(ErrorCode::kBadBinding, "input '{}' is bound to null", input);
  if (tensor.dtype == DType::kString) {
    if (strings_fit(tensor.bytes, *count)) return {};
    return make_error(ErrorCode::kBadBinding, "input '{}': {} strings do not fit {} bytes", input,
                      *count, tensor.bytes.size());
  }
  const uint64_t wanted = dtype_bytes(tensor.dtype, *count);
  if (tensor.bytes.size() == wanted) return {};
  return make_error(ErrorCode::kBadBinding, "input '{}' of {} {} has {} bytes, got {}", input,
                    dtype_name(tensor.dtype), dims_text(tensor.dims), wanted, tensor.bytes.size());
}

Result<void> check_dims(const pb::ModelDef& model, std::span<const HostValue> inputs) {
  std::map<std::string_view, std::pair<size_t, int64_t>>
      dims;  // the input that said it first, and what it said
  for (size_t i = 0; i < inputs.size(); ++i) {
    const pb::BindingDef& input = model.inputs(static_cast<int>(i));
    const pb::TypeDef& type = model.types(static_cast<int>(input.type()));
    if (type.kind() != pb::VALUE_TENSOR || type.dim_names_size() == 0) continue;
    for (int d = 0; d < type.dims_size(); ++d) {
      if (type.dims(d) >= 0 || type.dim_names(d).empty()) continue;
      const int64_t given = inputs[i].tensors[0].dims[static_cast<size_t>(d)];
      SLUICE_TRY(check_bounds(type, d, given, input.name()));
      const auto [first, inserted] = dims.try_emplace(type.dim_names(d), i, given);
      if (inserted || first->second.second == given) continue;
      return make_error(ErrorCode::kBadBinding, "dim '{}' is {} in input '{}' and {} in input '{}'",
                        type.dim_names(d), first->second.second,
                        model.inputs(static_cast<int>(first->second.first)).name(), given,
                        input.name());
    }
  }
  return {};
}

}  // namespace sluice
