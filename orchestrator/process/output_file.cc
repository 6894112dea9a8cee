#include "orchestrator/process/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "common/base/files.h"
#include "common/base/program.h"

namespace sluice {
namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path) {
  if (is_special_file(path)) {
    Descriptor special(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!special) return file_error("write", path);
    OutputFile file(path, {}, std::move(special));
    file.is_special_ = true;
    return file;
  }
  std::string target = behind_links(path);
  Descriptor nameless(open(folder_of(target).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666));
  if (nameless) return OutputFile(std::move(target), {}, std::move(nameless));
  std::string temporary = fmt::format("{}.tmp{}", target, getpid());
  Descriptor named(open(temporary.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0666));
  if (!named) return file_error("create", path);
  return OutputFile(std::move(target), std::move(temporary), std::move(named));
}

Result<OutputFile> OutputFile::reserve(const std::string& path) {
  std::string target = behind_links(path);
  std::string temporary = fmt::format("{}.tmp{}", target, getpid());
  Descriptor named(open(temporary.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0666));
  if (!named) return file_error("create", path);
  OutputFile file(std::move(target), std::move(temporary), std::move(named));
  file.is_reserved_ = true;
  return file;
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Result<uint64_t> OutputFile::bytes() const {
  struct stat status{};
  const int found = is_reserved_ ? stat(temporary_.c_str(), &status) : fstat(fd_.get(), &status);
  if (found != 0) return Error{ErrorCode::kIo, std::strerror(errno), {}, path_};
  return static_cast<uint64_t>(status.st_size);
}

Result<void> OutputFile::commit() {
  if (is_special_) return {};
  if (temporary_.empty()) {
    // A nameless file can be linked but not renamed over an existing one, so it briefly gets a
    // temporary name.
    const std::string name = fmt::format("{}.tmp{}", path_, getpid());
    const std::string self = fmt::format("/proc/self/fd/{}", fd_.get());
    unlink(name.c_str());
    if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      return Error{
          ErrorCode::kIo, fmt::format("cannot name the file: {}", std::strerror(errno)), {}, path_};
    }
    temporary_ = name;
  }
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    return Error{
        ErrorCode::kIo, fmt::format("cannot rename the file: {}", std::strerror(errno)), {}, path_};
  }
  temporary_.clear();
  return {};
}

}  // namespace sluice
