#include "stages/build/weights/shared_weights.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/files.h"

namespace sluice {
namespace {

bool is_file_of(const std::string& path, const Digest& digest, uint64_t bytes) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<uint64_t>(status.st_size) != bytes)
    return false;
  const auto file = MappedFile::open(path);
  return file && sha256(file->bytes()) == digest;
}

// Returns the time of the last change of a file's content, name or times; 0 without such a file.
int64_t changed_ns(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return 0;
  return static_cast<int64_t>(status.st_ctim.tv_sec) * 1'000'000'000 + status.st_ctim.tv_nsec;
}

// Marks a file as used, so that another build that made it and fails lets it be. A file of another
// user cannot be marked.
void touch(const std::string& path) { ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); }

}  // namespace

SharedWeights::~SharedWeights() {
  for (const Made& made : made_) {
    if (changed_ns(made.path) == made.changed_ns) ::unlink(made.path.c_str());
  }
}

Result<void> SharedWeights::add(std::span<const std::byte> bytes) {
  if (!file_) {
    SLUICE_ASSIGN(TemporaryFile file, TemporaryFile::create(place_.folder + "/weight"));
    file_.emplace(std::move(file));
    bytes_ = 0;
  }
  bytes_ += bytes.size();
  auto written = write_descriptor(file_->descriptor(), bytes);
  if (!written)
    return std::move(written).error().within(fmt::format("a file in '{}'", place_.folder));
  return {};
}

Result<void> SharedWeights::end(const Digest& digest) {
  const std::string path = place_.shared_file(digest);
  TemporaryFile file = std::move(*file_);
  file_.reset();
  if (is_file_of(path, digest, bytes_)) {
    touch(path);
    return {};
  }
  const bool is_new = changed_ns(path) == 0;
  SLUICE_TRY(file.commit(path));
  if (is_new) made_.push_back({path, changed_ns(path)});
  return {};
}

}  // namespace sluice
