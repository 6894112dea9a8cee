#include "common/store/store_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace sluice {
namespace {

int flags_of(StoreLock::Making making) {
  switch (making) {
    case StoreLock::Making::kIfMissing:
      return O_CREAT;
    case StoreLock::Making::kAlways:
      return O_CREAT | O_EXCL;
    case StoreLock::Making::kNever:
      break;
  }
  return 0;
}

// A file of somebody else may be readable alone, which is enough for a lock.
Descriptor open_file(const std::string& path, StoreLock::Making making) {
  constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Descriptor file(::open(path.c_str(), O_RDWR | kFlags | flags_of(making), 0666));
  if (file || errno != EACCES) return file;
  file.reset(::open(path.c_str(), O_RDONLY | kFlags));
  if (!file) errno = EACCES;
  return file;
}

}  // namespace

bool is_file_at(const Descriptor& file, const std::string& path) {
  struct stat ours{}, there{};
  return ::fstat(file.get(), &ours) == 0 && ::stat(path.c_str(), &there) == 0 &&
         ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

StoreLock& StoreLock::operator=(StoreLock&& other) noexcept {
  release();
  path_ = std::move(other.path_);
  file_ = std::move(other.file_);
  return *this;
}

void StoreLock::release() {
  if (file_) ::unlink(path_.c_str());
  file_.reset();
}

StoreLock::Trial StoreLock::try_file(const std::string& path, Making making) {
  while (true) {
    Descriptor file = open_file(path, making);
    if (!file) {
      const bool is_there = errno == EEXIST;
      return {.lock = {}, .is_held = is_there, .error = is_there ? 0 : errno};
    }
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
      return {
          .lock = {}, .is_held = errno == EWOULDBLOCK, .error = errno == EWOULDBLOCK ? 0 : errno};
    // Otherwise its owner has just removed it.
    if (is_file_at(file, path)) return {.lock = StoreLock(path, std::move(file))};
  }
}

}  // namespace sluice
