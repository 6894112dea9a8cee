// Writing past the page cache (open(2), O_DIRECT): for files of gigabytes, whose copy into the
// cache takes longer than the disk does, and would push out of it what other programs use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "common/base/descriptor.h"

namespace sluice {

class UncachedFile {
 public:
  // Writes to the open file `fd`, which stays as it is, from the byte `at` on. Nothing: the file,
  // its file system or the position does not allow it.
  static std::optional<UncachedFile> open(int fd, uint64_t at);

  // Bytes that follow; they are in the file after finish(). False: see errno.
  bool write(std::span<const std::byte> bytes);
  bool finish();

 private:
  struct Free {
    void operator()(std::byte* bytes) const;
  };
  UncachedFile(int fd, Descriptor direct, uint64_t at, std::byte* buffer)
      : fd_(fd), direct_(std::move(direct)), at_(at), buffer_(buffer) {}
  bool flush(size_t aligned);

  int fd_ = -1;        // through the cache: for the last bytes, which fill no block
  Descriptor direct_;  // the same file, not the same position
  uint64_t at_ = 0;    // where the buffer belongs
  std::unique_ptr<std::byte[], Free> buffer_;
  size_t filled_ = 0;
};

}  // namespace sluice
