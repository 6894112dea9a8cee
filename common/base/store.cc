#include "common/base/store.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "common/base/files.h"

namespace sluice {
namespace {

constexpr int kMaxWriteTrials = 5;

// Returns true when the file has these bytes. The bytes are compared, because a damaged artifact
// would damage everything made from it.
bool holds(const std::string& path, std::span<const std::byte> bytes) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || static_cast<uint64_t>(status.st_size) != bytes.size())
    return false;
  const auto map = MappedFile::open(path);
  return map && std::equal(bytes.begin(), bytes.end(), map->bytes().begin(), map->bytes().end());
}

}  // namespace

std::string store_path(const std::string& store, const Digest& digest) {
  const std::string hex = digest_hex(digest);
  return fmt::format("{}/{}/{}", store, hex.substr(0, 2), hex);
}

bool is_no_entry(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

bool note_use(const std::string& path) {
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_NOW},
                             {.tv_sec = 0, .tv_nsec = UTIME_OMIT}};
  return ::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0 || errno != ENOENT;
}

Result<void> write_in_folder_of(const std::string& path,
                                const std::function<Result<void>()>& write) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (int trial = 1;; ++trial) {
    SLUICE_TRY(make_directories(folder.string()));
    Result<void> written = write();
    std::error_code failed;
    if (written || trial == kMaxWriteTrials || std::filesystem::exists(folder, failed))
      return written;
  }
}

Result<uint64_t> put_in_store(const std::string& store, const Digest& digest,
                              std::span<const std::byte> bytes) {
  const std::string path = store_path(store, digest);
  if (is_no_entry(path))
    return make_error(ErrorCode::kIo, "'{}' in the store is no regular file", path)
        .with_hint("delete it");
  // A file that has just been deleted is written again.
  if (holds(path, bytes) && note_use(path)) return uint64_t{0};
  SLUICE_TRY(write_in_folder_of(path, [&] { return write_file(path, bytes); }));
  return uint64_t{bytes.size()};
}

}  // namespace sluice
