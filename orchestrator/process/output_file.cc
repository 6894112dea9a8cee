#include "orchestrator/process/output_file.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "common/base/files.h"
#include "common/base/program.h"

namespace sluice {

Result<OutputFile> OutputFile::create(const std::string& path) {
  if (is_special_file(path)) {
    OutputFile file(path);
    file.special_ = Descriptor(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file.special_) return file_error("write", path);
    return file;
  }
  OutputFile file(behind_links(path));
  SLUICE_ASSIGN(TemporaryFile temporary, TemporaryFile::create(file.path_));
  file.temporary_.emplace(std::move(temporary));
  return file;
}

OutputFile::~OutputFile() {
  if (!reserved_.empty()) unlink(reserved_.c_str());
}

std::string OutputFile::path_for_others() const {
  return temporary_ ? temporary_->path_of_descriptor() : reserved_;
}

Result<void> OutputFile::take(const MappedFile& file) {
  const Descriptor source(::open(file.path().c_str(), O_RDONLY | O_CLOEXEC));
  if (source && ::ioctl(descriptor(), FICLONE, source.get()) == 0) return {};
  const std::string name = fmt::format("{}.tmp{}", path_, getpid());
  if (::link(file.path().c_str(), name.c_str()) == 0) {
    temporary_.reset();
    reserved_ = name;
    return {};
  }
  return write_descriptor(descriptor(), file.bytes());
}

Result<uint64_t> OutputFile::bytes() const {
  struct stat status{};
  const int found =
      reserved_.empty() ? fstat(descriptor(), &status) : stat(reserved_.c_str(), &status);
  if (found != 0) return Error{ErrorCode::kIo, std::strerror(errno), {}, path_};
  return static_cast<uint64_t>(status.st_size);
}

Result<void> OutputFile::commit() {
  if (temporary_) return temporary_->commit(path_);
  if (reserved_.empty()) return {};
  if (rename(reserved_.c_str(), path_.c_str()) != 0) return file_error("write", path_);
  unlink(reserved_.c_str());  // rename leaves a name of the file that the path had already
  reserved_.clear();
  return {};
}

}  // namespace sluice
