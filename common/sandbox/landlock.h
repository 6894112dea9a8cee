// Landlock: the files and folders that a process may use, and nothing else of the file system.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/descriptor.h"
#include "common/base/result.h"

namespace sluice {

struct FileAccess {
  std::vector<std::string> readable, writable, executable;
};

// Rules that are ready to be enforced.
class FileRules {
 public:
  FileRules() = default;
  // Without Landlock the rules are empty. Errors: kIo.
  static Result<FileRules> make(const FileAccess& access);

  int version() const { return version_; }  // of Landlock; 0: there is none
  // Enforces them for the calling process, for good, and lets it read its own folder of /proc
  // and open the file that is its standard input again. Is safe in a signal
  // handler. Returns false when that fails.
  bool enforce() const noexcept;

 private:
  int version_ = 0;
  Descriptor rules_;
};

}  // namespace sluice
