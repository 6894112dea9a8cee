// A dense tensor in host memory, as used by files, bindings and comparisons.
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

// Returns the resource from which new tensors of this thread allocate; the heap unless
// UseTensorMemory set another. A library that is opened at run time has its own setting.
std::pmr::memory_resource* tensor_memory();

// Sets the resource while in scope. Tensors made meanwhile must end before `memory` does.
class UseTensorMemory {
 public:
  explicit UseTensorMemory(std::pmr::memory_resource* memory);
  ~UseTensorMemory();
  UseTensorMemory(const UseTensorMemory&) = delete;
  UseTensorMemory& operator=(const UseTensorMemory&) = delete;

 private:
  std::pmr::memory_resource* before_;
};

// Allocates storage that starts on a cache line, so that it can be bound to a run without a copy. A
// copied container uses the resource that is set where the copy is made. Elements constructed from
// a size alone are uninitialized; a caller that needs zeros passes them.
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

// Elements are little-endian and row-major. 2- and 4-bit elements are packed as ONNX packs them,
// the first element in the low bits. A string tensor of n elements is n + 1 u64 offsets into the
// text that follows them.
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

// Returns the product of dims, or nothing when a dim is negative or the product exceeds 2^60.
std::optional<uint64_t> element_count(std::span<const int64_t> dims);

// Makes a tensor of zeros. The dims must have an element_count.
Tensor make_tensor(DType dtype, std::vector<int64_t> dims, std::string name = {});
// Makes a tensor with uninitialized elements, all of which the caller must write.
Tensor make_unfilled_tensor(DType dtype, std::vector<int64_t> dims, std::string name = {});
Tensor make_string_tensor(std::vector<int64_t> dims, std::span<const std::string> texts,
                          std::string name = {});
// Returns element `index` of a string tensor, or an empty text when its offsets are damaged.
std::string_view string_at(const Tensor& tensor, uint64_t index);
// Returns true when `bytes` has the size that dtype and dims require and, for strings, offsets that
// are sorted and inside.
bool is_consistent(const Tensor& tensor);

std::string dims_text(std::span<const int64_t> dims);  // "1x3x224x224", "scalar"

}  // namespace sluice
