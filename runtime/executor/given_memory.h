// The caller's memory, used for the one tensor that is made in it. It is never freed here.
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
  // Replaces the memory given before. An empty span: none is given.
  void use(std::span<std::byte> bytes) { bytes_ = bytes; }
  std::span<std::byte> bytes() const { return bytes_; }
  // Returns whether a tensor of so many bytes can be made in the memory: it fills the memory, which
  // is aligned as tensors are.
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
