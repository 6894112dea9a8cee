#include "orchestrator/conformance/key_order.h"

#include <algorithm>
#include <numeric>

namespace sluice {
namespace {

std::string element_of(const Tensor& tensor, size_t i) {
  if (tensor.dtype == DType::kString) return std::string(string_at(tensor, i));
  const size_t width = static_cast<size_t>(dtype_bits(tensor.dtype)) / 8;
  return {reinterpret_cast<const char*>(tensor.bytes.data()) + i * width, width};
}

Tensor permuted(const Tensor& tensor, const std::vector<size_t>& order) {
  std::vector<std::string> elements;
  for (const size_t i : order) elements.push_back(element_of(tensor, i));
  if (tensor.dtype == DType::kString) return make_string_tensor(tensor.dims, elements, tensor.name);
  Tensor result{tensor.name, tensor.dtype, tensor.dims, {}};
  for (const std::string& element : elements) {
    const auto* bytes = reinterpret_cast<const std::byte*>(element.data());
    result.bytes.insert(result.bytes.end(), bytes, bytes + element.size());
  }
  return result;
}

}  // namespace

std::vector<Tensor> in_key_order(const std::vector<Tensor>& maps) {
  std::vector<Tensor> ordered;
  for (size_t i = 0; i + 1 < maps.size(); i += 2) {
    const Tensor &keys = maps[i], &values = maps[i + 1];
    if (!is_consistent(keys) || !is_consistent(values) || keys.dims.size() != 1 ||
        keys.dims != values.dims)
      return maps;
    std::vector<size_t> order(static_cast<size_t>(keys.dims[0]));
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, {}, [&](size_t at) { return element_of(keys, at); });
    ordered.push_back(permuted(keys, order));
    ordered.push_back(permuted(values, order));
  }
  return ordered;
}

}  // namespace sluice
