#include "common/base/store.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "common/base/files.h"

namespace sluice {
namespace {

Result<void> make_folder_of(const std::string& path) {
  return make_directories(std::filesystem::path(path).parent_path().string());
}

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

Result<void> put_in_store(const std::string& store, const Digest& digest,
                          std::span<const std::byte> bytes) {
  const std::string path = store_path(store, digest);
  if (is_no_entry(path))
    return make_error(ErrorCode::kIo, "'{}' in the store is no regular file", path)
        .with_hint("delete it");
  if (holds(path, bytes)) return {};
  SLUICE_TRY(make_folder_of(path));
  return write_file(path, bytes);
}

Result<Digest> move_into_store(const std::string& store, TemporaryFile file) {
  SLUICE_ASSIGN(const MappedFile map, MappedFile::open(file.path_of_descriptor()));
  const Digest digest = sha256(map.bytes());
  const std::string path = store_path(store, digest);
  SLUICE_TRY(make_folder_of(path));
  SLUICE_TRY(file.commit(path));
  return digest;
}

}  // namespace sluice
