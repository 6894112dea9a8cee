// A file that gets its name when it is complete. Until then it has no name at all where the file
// system allows that (O_TMPFILE), so that not even being killed leaves a file behind; elsewhere it
// is called "<target>.tmp<pid>".
#pragma once

#include <string>
#include <utility>

#include "common/base/descriptor.h"
#include "common/base/result.h"

namespace sluice {

class TemporaryFile {
 public:
  // Creates the file in the target's folder. The target's last name must not be a symbolic link.
  static Result<TemporaryFile> create(const std::string& target);
  TemporaryFile(TemporaryFile&& other) noexcept
      : name_(std::exchange(other.name_, {})), fd_(std::move(other.fd_)) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile();  // without commit() nothing remains
  int descriptor() const { return fd_.get(); }
  // Returns the path at which this process, or another one of this user, opens the file as it is.
  std::string path_of_descriptor() const;
  // Gives it the target's name, in place of any file that has it.
  Result<void> commit(const std::string& target);

 private:
  TemporaryFile(std::string name, Descriptor fd) : name_(std::move(name)), fd_(std::move(fd)) {}
  std::string name_;  // empty while the file has none
  Descriptor fd_;
};

// Returns whether a path is that of an open file of a process. Such a file is written in place: its
// name, if it has one, is the business of the process that opened it.
bool is_path_of_descriptor(const std::string& path);

}  // namespace sluice
