// A private folder for temporary files, removed with everything in it.
#pragma once

#include <string>
#include <utility>

#include "common/base/result.h"

namespace sluice {

class ScratchFolder {
 public:
  static Result<ScratchFolder> create();  // below $TMPDIR, or /tmp
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace sluice
