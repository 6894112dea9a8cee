// A file that one process at a time has locked, and that is there only while it is locked.
#pragma once

#include <string>
#include <utility>

#include "common/base/descriptor.h"

namespace sluice {

// It ends with the object, or with the process. The name is removed before the lock is given back,
// and whoever gets the lock of a file that has lost its name tries again: so two never have it.
class StoreLock {
 public:
  enum class Making { kIfMissing, kAlways, kNever };
  struct Trial;

  StoreLock() = default;
  StoreLock(StoreLock&&) = default;
  StoreLock& operator=(StoreLock&& other) noexcept;
  ~StoreLock() { release(); }

  // Tries to take the lock of a file, without waiting. kAlways: a file that is there is that of
  // somebody else; kNever: only a file that is there can be locked.
  static Trial try_file(const std::string& path, Making making);

  explicit operator bool() const { return static_cast<bool>(file_); }
  const Descriptor& file() const { return file_; }
  // Gives the lock back and leaves the file.
  void leave_file() { file_.reset(); }

 private:
  StoreLock(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  void release();
  std::string path_;
  Descriptor file_;
};

struct StoreLock::Trial {
  StoreLock lock;
  bool is_held = false;  // by another process, or by another object of this one
  int error = 0;         // why files cannot be made or locked here; 0 when they can
};

// Returns whether an open file is the one that has this name now.
bool is_file_at(const Descriptor& file, const std::string& path);

}  // namespace sluice
