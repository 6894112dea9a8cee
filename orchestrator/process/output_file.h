// A file that appears under its name only when complete. Until then it has no name at all where the
// file system allows it (O_TMPFILE), so that not even being killed leaves a temporary behind.
// Devices and pipes, such as /dev/null, are written directly.
#pragma once

#include <span>
#include <string>

#include "common/base/descriptor.h"
#include "common/base/result.h"

namespace sluice {

class OutputFile {
 public:
  static Result<OutputFile> create(const std::string& path);
  // Does the same for a file that another process writes, at reserved(); the file exists, empty,
  // from now on.
  static Result<OutputFile> reserve(const std::string& path);
  OutputFile(OutputFile&& other) noexcept
      : path_(std::move(other.path_)),
        temporary_(std::exchange(other.temporary_, {})),
        is_special_(other.is_special_),
        is_reserved_(other.is_reserved_),
        fd_(std::move(other.fd_)) {}
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();  // without commit() nothing remains
  int descriptor() const { return fd_.get(); }
  std::string reserved() const { return is_reserved_ ? temporary_ : std::string(); }
  Result<uint64_t> bytes() const;
  Result<void> commit();

 private:
  OutputFile(std::string path, std::string temporary, Descriptor fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(std::move(fd)) {}
  std::string path_;
  std::string temporary_;    // empty while the file has no name
  bool is_special_ = false;  // a device or a pipe, which is written directly
  bool is_reserved_ = false;
  Descriptor fd_;
};

}  // namespace sluice
