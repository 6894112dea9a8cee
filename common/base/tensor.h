// A dense tensor in host memory, as files, bindings and comparisons hold it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/dtype.h"

namespace sluice {

// Where tensors that this thread makes take their bytes from; the heap when nobody chose. A library
// that is opened at run time has a choice of its own.
std::pmr::memory_resource* tensor_memory();

// Chooses it while in scope. What is made meanwhile must end before `memory` does.
class UseTensorMemory {
 public:
  explicit UseTensorMemory(std::pmr::memory_resource* memory);
  ~UseTensorMemory();
  UseTensorMemory(const UseTensorMemory&) = delete;
  UseTensorMemory& operator=(const UseTensorMemory&) = delete;

 private:
  std::pmr::memory_resource* before_;
};

// Storage that starts on a cache line, so that it can be bound to a run without a copy. A copy
// takes its memory where it is made. A size alone gives elements that hold nothing yet: who wants
// zeros says so.
template <typename T>
struct CacheLineAllocator {
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  static constexpr size_t kAlignment = 64;
  CacheLineAllocator() = default;
  template <typename U>
  CacheLineAllocator(const CacheLineAllocator<U>& other)
      : memory(other.memory) {}  // NOLINT: rebinding is implicit by the standard
  CacheLineAllocator select_on_container_copy_construction() const { return {}; }
  T* allocate(size_t count) {
    if (count > PTRDIFF_MAX / sizeof(T)) throw std::bad_alloc();
    return static_cast<T*>(memory->allocate(count * sizeof(T), kAlignment));
  }
  void deallocate(T* bytes, size_t count) {
    memory->deallocate(bytes, count * sizeof(T), kAlignment);
  }
  template <typename U>
  void construct(U* at) noexcept {
    ::new (static_cast<void*>(at)) U;
  }
  bool operator==(const CacheLineAllocator& other) const { return memory == other.memory; }

  std::pmr::memory_resource* memory = tensor_memory();
};
using TensorBytes = std::vector<std::byte, CacheLineAllocator<std::byte>>;

// Elements are little-endian and row-major; 2- and 4-bit elements are packed as ONNX packs them,
// first element in the low bits; a string tensor of n elements is n + 1 u64 offsets into the text
// that follows them.
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
// The same, but its elements hold nothing yet: whoever makes it writes them all.
Tensor make_unfilled_tensor(DType dtype, std::vector<int64_t> dims, std::string name = {});
Tensor make_string_tensor(std::vector<int64_t> dims, std::span<const std::string> texts,
                          std::string name = {});
// Element `index` of a string tensor; empty when its offsets are damaged.
std::string_view string_at(const Tensor& tensor, uint64_t index);
// Whether `bytes` has the size that dtype and dims ask for and, for strings, offsets that are
// sorted and inside.
bool is_consistent(const Tensor& tensor);

std::string dims_text(std::span<const int64_t> dims);  // "1x3x224x224", "scalar"

}  // namespace sluice
