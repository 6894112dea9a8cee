// The memory of one run: zeroed, private, 4096-byte aligned; from 2 MiB on it is aligned to huge
// pages and advised to the system for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/base/result.h"

namespace sluice {

class Arena {
 public:
  // Error: kLimit when the system gives no memory. Zero bytes are allowed.
  static Result<Arena> allocate(uint64_t bytes);
  std::byte* data() const { return data_; }
  uint64_t size() const { return size_; }

 private:
  std::shared_ptr<void> owner_;
  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace sluice
