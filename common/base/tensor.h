// A dense tensor in host memory, as files, bindings and comparisons hold it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/dtype.h"

namespace sluice {

// Storage that starts on a cache line, so that it can be bound to a run without a copy.
template <typename T>
struct CacheLineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};
  CacheLineAllocator() = default;
  template <typename U>
  CacheLineAllocator(const CacheLineAllocator<U>&) {}  // NOLINT: rebinding is implicit by the standard
  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kAlignment)); }
  void deallocate(T* memory, size_t) { ::operator delete(memory, kAlignment); }
  bool operator==(const CacheLineAllocator&) const { return true; }
};
using TensorBytes = std::vector<std::byte, CacheLineAllocator<std::byte>>;

// Elements are little-endian and row-major; 2- and 4-bit elements are packed as ONNX packs them, first element in the low bits; a string
// tensor of n elements is n + 1 u64 offsets into the text that follows them.
struct Tensor {
  std::string name;
  DType dtype = DType::kUndefined;
  std::vector<int64_t> dims;  // each >= 0; empty: a scalar
  TensorBytes bytes;

  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <typename T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

// Product of dims; nothing when a dim is negative or the product exceeds 2^60.
std::optional<uint64_t> element_count(std::span<const int64_t> dims);

// Zeros. The dims must have an element_count.
Tensor make_tensor(DType dtype, std::vector<int64_t> dims, std::string name = {});
Tensor make_string_tensor(std::vector<int64_t> dims, std::span<const std::string> texts, std::string name = {});
// Element `index` of a string tensor; empty when its offsets are damaged.
std::string_view string_at(const Tensor& tensor, uint64_t index);
// Whether `bytes` has the size that dtype and dims ask for and, for strings, offsets that are sorted and inside.
bool is_consistent(const Tensor& tensor);

std::string dims_text(std::span<const int64_t> dims);  // "1x3x224x224", "scalar"

}  // namespace sluice
