// A file that appears under its name only when complete, also when another process writes it.
// Devices and pipes, such as /dev/null, are written directly.
#pragma once

#include <optional>
#include <string>

#include "common/base/descriptor.h"
#include "common/base/files.h"
#include "common/base/result.h"
#include "common/base/temporary_file.h"

namespace sluice {

class OutputFile {
 public:
  static Result<OutputFile> create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept
      : path_(std::move(other.path_)),
        reserved_(std::exchange(other.reserved_, {})),
        temporary_(std::move(other.temporary_)),
        special_(std::move(other.special_)) {}
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();  // without commit() nothing remains
  int descriptor() const { return temporary_ ? temporary_->descriptor() : special_.get(); }
  // Returns where another process writes the file; empty for devices and pipes.
  std::string path_for_others() const;
  // Takes another file as the content: shares its bytes where the file system can, by a clone or a
  // link, and copies them elsewhere. Not for devices and pipes.
  Result<void> take(const MappedFile& file);
  Result<uint64_t> bytes() const;
  Result<void> commit();

 private:
  explicit OutputFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
  std::string reserved_;  // a link to a file that was taken
  std::optional<TemporaryFile> temporary_;
  Descriptor special_;  // a device or a pipe
};

}  // namespace sluice
