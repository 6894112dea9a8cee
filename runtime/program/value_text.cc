#include "runtime/program/value_text.h"

#include <algorithm>

#include "fmt/format.h"

namespace sluice {
namespace {

constexpr size_t kShown = 10;  // maps, and keys of one

template <typename T>
std::string summary_of(const Tensor& tensor) {
  const auto elements = tensor.as<T>();
  if (elements.empty()) return "no elements";
  size_t greatest = 0;
  double minimum = static_cast<double>(elements[0]);
  double sum = 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    minimum = std::min(minimum, static_cast<double>(elements[i]));
    sum += static_cast<double>(elements[i]);
    if (elements[i] > elements[greatest]) greatest = i;
  }
  return fmt::format("min {:.6g}, max {:.6g} at {}, mean {:.6g}", minimum,
                     static_cast<double>(elements[greatest]), greatest,
                     sum / static_cast<double>(elements.size()));
}

template <typename T>
std::string number_text(const Tensor& tensor, size_t i) {
  return fmt::format("{:.6g}", static_cast<double>(tensor.as<T>()[i]));
}

std::string element_text(const Tensor& tensor, size_t i) {
  switch (tensor.dtype) {
    case DType::kString:
      return fmt::format("\"{}\"", string_at(tensor, i));
    case DType::kI64:
      return std::to_string(tensor.as<int64_t>()[i]);
    case DType::kI32:
      return std::to_string(tensor.as<int32_t>()[i]);
    case DType::kF32:
      return number_text<float>(tensor, i);
    case DType::kF64:
      return number_text<double>(tensor, i);
    default:
      return std::string(dtype_name(tensor.dtype));
  }
}

std::string map_text(const Tensor& keys, const Tensor& values) {
  const auto count = static_cast<size_t>(keys.dims[0]);
  std::string text = fmt::format("map of {}", count);
  for (size_t i = 0; i < std::min(count, kShown); ++i)
    text += fmt::format(", {}: {}", element_text(keys, i), element_text(values, i));
  return text + (count > kShown ? ", ..." : "");
}

}  // namespace

std::string summary_text(const Tensor& tensor) {
  switch (tensor.dtype) {
    case DType::kF32:
      return summary_of<float>(tensor);
    case DType::kF64:
      return summary_of<double>(tensor);
    case DType::kI64:
      return summary_of<int64_t>(tensor);
    case DType::kI32:
      return summary_of<int32_t>(tensor);
    case DType::kI8:
      return summary_of<int8_t>(tensor);
    case DType::kU8:
    case DType::kBool:
      return summary_of<uint8_t>(tensor);
    case DType::kString:
      return element_count(tensor.dims).value_or(0) == 0
                 ? "no elements"
                 : fmt::format("first \"{}\"", string_at(tensor, 0));
    default:
      return fmt::format("{} bytes", tensor.bytes.size());
  }
}

std::string maps_text(const std::string& name, const FileValue& value) {
  const std::vector<Tensor>& tensors = value.tensors;
  if (value.kind == ValueKind::kMap)
    return fmt::format("{}: {}\n", name, map_text(tensors[0], tensors[1]));
  const size_t count = tensors.size() / 2;
  std::string text = fmt::format("{}: a sequence of {} maps\n", name, count);
  for (size_t i = 0; i < std::min(count, kShown); ++i) {
    text += fmt::format("{}.{}: {}\n", name, i, map_text(tensors[2 * i], tensors[2 * i + 1]));
  }
  return text + (count > kShown ? fmt::format("{}.{}: ...\n", name, kShown) : "");
}

}  // namespace sluice
