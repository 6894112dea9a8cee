#include "common/base/uncached_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

namespace sluice {
namespace {

// O_DIRECT's alignment of memory, offsets and sizes: a disk's blocks have 512 or 4096 bytes.
constexpr size_t kBlockBytes = 4096;
constexpr size_t kBufferBytes = size_t{4}
                                << 20;  // one request: a disk reaches its full speed at about 1 MB

// Returns false on failure, with errno set.
bool write_all(int fd, const std::byte* bytes, size_t size, uint64_t at) {
  while (size > 0) {
    const ssize_t put = ::pwrite(fd, bytes, size, static_cast<off_t>(at));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes += put;
    size -= static_cast<size_t>(put);
    at += static_cast<uint64_t>(put);
  }
  return true;
}

}  // namespace

void UncachedFile::Free::operator()(std::byte* bytes) const { std::free(bytes); }

std::optional<UncachedFile> UncachedFile::open(int fd, uint64_t at) {
  if (at % kBlockBytes != 0) return std::nullopt;
  Descriptor direct(
      ::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_WRONLY | O_CLOEXEC | O_DIRECT));
  if (!direct) return std::nullopt;
  auto* buffer = static_cast<std::byte*>(std::aligned_alloc(kBlockBytes, kBufferBytes));
  if (buffer == nullptr) return std::nullopt;
  return UncachedFile(fd, std::move(direct), at, buffer);
}

bool UncachedFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const size_t piece = std::min(bytes.size(), kBufferBytes - filled_);
    std::memcpy(buffer_.get() + filled_, bytes.data(), piece);
    filled_ += piece;
    bytes = bytes.subspan(piece);
    if (filled_ == kBufferBytes && !flush(filled_)) return false;
  }
  return true;
}

bool UncachedFile::finish() {
  return flush(filled_ / kBlockBytes * kBlockBytes) && write_all(fd_, buffer_.get(), filled_, at_);
}

// Some file systems reject O_DIRECT only here; the bytes then go through the cache.
bool UncachedFile::flush(size_t aligned) {
  const bool written = write_all(direct_.get(), buffer_.get(), aligned, at_) ||
                       (errno == EINVAL && write_all(fd_, buffer_.get(), aligned, at_));
  if (!written) return false;
  std::memmove(buffer_.get(), buffer_.get() + aligned, filled_ - aligned);
  at_ += aligned;
  filled_ -= aligned;
  return true;
}

}  // namespace sluice
