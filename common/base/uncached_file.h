// Writes past the page cache (open(2), O_DIRECT), for files of gigabytes: copying them into the
// cache takes longer than the disk does and would evict the pages of other programs.
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
  // Writes to the open file `fd`, which keeps its position, from the byte `at` on. Returns nothing
  // when the file, its file system or the position does not allow it.
  static std::optional<UncachedFile> open(int fd, uint64_t at);

  // Appends bytes; they are in the file after finish(). Returns false on failure, with errno set.
  bool write(std::span<const std::byte> bytes);
  bool finish();

 private:
  struct Free {
    void operator()(std::byte* bytes) const;
  };
  UncachedFile(int fd, Descriptor direct, uint64_t at, std::byte* buffer)
      : fd_(fd), direct_(std::move(direct)), at_(at), buffer_(buffer) {}
  bool flush(size_t aligned);

  int fd_ = -1;        // through the cache, for the last bytes, which fill no block
  Descriptor direct_;  // the same file with a separate position
  uint64_t at_ = 0;    // the position of the buffer in the file
  std::unique_ptr<std::byte[], Free> buffer_;
  size_t filled_ = 0;
};

}  // namespace sluice
