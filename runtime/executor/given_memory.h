// Memory of a caller's, as the memory of the one tensor that is made in it. Nothing of it is ever
// freed here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <span>

#include "common/base/tensor.h"

namespace sluice {

class GivenMemory : public std::pmr::memory_resource {
 public:
  // Replaces what was given before. Empty: nothing is given.
  void use(std::span<std::byte> bytes) { bytes_ = bytes; }
  std::span<std::byte> bytes() const { return bytes_; }
  // Whether a tensor of so many bytes may be made in it: it fills the memory and is aligned as
  // tensors are.
  bool holds(size_t bytes) const {
    constexpr size_t kAlignment = CacheLineAllocator<std::byte>::kAlignment;
    return bytes > 0 && bytes == bytes_.size() &&
           reinterpret_cast<uintptr_t>(bytes_.data()) % kAlignment == 0;
  }

 private:
  void* do_allocate(size_t bytes, size_t) override {
    if (!holds(bytes)) throw std::bad_alloc();
    return bytes_.data();
  }
  void do_deallocate(void*, size_t, size_t) override {}
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::span<std::byte> bytes_;
};

}  // namespace sluice
