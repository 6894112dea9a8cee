#include "orchestrator/store/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

#include "common/base/files.h"

namespace sluice {
namespace {

constexpr int64_t kNanoseconds = 1'000'000'000;
constexpr size_t kPiece = 1 << 20;
constexpr off_t kMaxRecordBytes = off_t{64} << 20;

int64_t ns_of(const timespec& time) { return time.tv_sec * kNanoseconds + time.tv_nsec; }

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

bool is_dots(const char* name) {
  return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

}  // namespace

Result<void> for_each_entry(const std::string& folder,
                            const std::function<void(const FolderEntry&)>& take) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) return {};
  if (fd < 0) return file_error("open", folder);
  const std::unique_ptr<DIR, CloseFolder> open(::fdopendir(fd));
  if (open == nullptr) {
    ::close(fd);
    return file_error("read", folder);
  }
  while (true) {
    errno = 0;
    const dirent* found = ::readdir(open.get());
    if (found == nullptr) return errno == 0 ? Result<void>() : file_error("read", folder);
    FolderEntry entry{.name = found->d_name, .folder = fd};
    if (!is_dots(entry.name) && ::fstatat(fd, entry.name, &entry.status, AT_SYMLINK_NOFOLLOW) == 0)
      take(entry);
  }
}

// Only the owner may read a file without being noticed.
Descriptor open_unnoticed(int folder, const char* name) {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Descriptor file(::openat(folder, name, kFlags | O_NOATIME));
  if (!file && errno == EPERM) file.reset(::openat(folder, name, kFlags));
  return file;
}

std::optional<std::string> read_unnoticed(int folder, const char* name) {
  const Descriptor file = open_unnoticed(folder, name);
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size > kMaxRecordBytes)
    return std::nullopt;
  std::string text(static_cast<size_t>(status.st_size), '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    done += static_cast<size_t>(got);
  }
  return text;
}

std::optional<Digest> digest_of_file(const Descriptor& file) {
  std::vector<std::byte> piece(kPiece);
  Sha256 hash;
  while (true) {
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return hash.finish();
    hash.add(std::span(piece).first(static_cast<size_t>(got)));
  }
}

int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return ns_of(now);
}

int64_t use_of(const struct stat& status) {
  return std::max(ns_of(status.st_atim), ns_of(status.st_mtim));
}

std::optional<Digest> digest_of_name(std::string_view name) {
  const bool is_lower =
      std::none_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'F'; });
  return is_lower ? digest_from_hex(name) : std::nullopt;
}

Result<void> remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return make_error(ErrorCode::kIo, "cannot delete '{}': {}", path, std::strerror(errno));
}

}  // namespace sluice
