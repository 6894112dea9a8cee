#include "common/base/temporary_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "common/base/files.h"

namespace sluice {
namespace {

constexpr int kMaxTemporaries = 1000;
constexpr char kOwnDescriptors[] = "/proc/self/fd";

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// Finds a name beside the target that nobody else uses. Process numbers repeat where containers
// share a folder, so a number is appended to a name that exists. `make` returns -1 on failure, with
// errno set.
template <typename Make>
int make_named(const std::string& target, std::string& name, const Make& make) {
  int made = -1;
  errno = EEXIST;
  for (int again = 0; made < 0 && errno == EEXIST && again < kMaxTemporaries; ++again) {
    name =
        fmt::format("{}.tmp{}", target, ::getpid()) + (again == 0 ? "" : fmt::format("-{}", again));
    made = make(name);
  }
  return made;
}

}  // namespace

Result<TemporaryFile> TemporaryFile::create(const std::string& target) {
  // Without /proc a nameless file could never get a name.
  if (::access(kOwnDescriptors, X_OK) == 0) {
    Descriptor nameless(::open(folder_of(target).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666));
    if (nameless) return TemporaryFile({}, std::move(nameless));
  }
  std::string name;
  Descriptor named(make_named(target, name, [](const std::string& path) {
    return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  }));
  if (!named) return file_error("create", target);
  return TemporaryFile(std::move(name), std::move(named));
}

TemporaryFile::~TemporaryFile() {
  if (!name_.empty()) ::unlink(name_.c_str());
}

std::string TemporaryFile::path_of_descriptor() const {
  return fmt::format("/proc/{}/fd/{}", ::getpid(), fd_.get());
}

Result<void> TemporaryFile::commit(const std::string& target) {
  if (name_.empty()) {
    const std::string self = fmt::format("{}/{}", kOwnDescriptors, fd_.get());
    const auto link_to = [&self](const std::string& path) {
      return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW);
    };
    if (link_to(target) == 0) return {};
    // A nameless file cannot replace another, so it gets a temporary name for that moment.
    std::string name;
    if (errno != EEXIST || make_named(target, name, link_to) != 0)
      return file_error("write", target);
    name_ = std::move(name);
  }
  if (::rename(name_.c_str(), target.c_str()) != 0) return file_error("write", target);
  name_.clear();
  return {};
}

bool is_path_of_descriptor(const std::string& path) {
  return path.starts_with("/proc/") && path.find("/fd/") != std::string::npos;
}

}  // namespace sluice
