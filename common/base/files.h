// Whole reads of files, read-only maps, and writes whose file gets its final name only when it is
// complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/base/temporary_file.h"
#include "common/base/uncached_file.h"

namespace sluice {

// Returns the error of errno for an action ("open") on a file: kNotFound when its path cannot be
// used, kLimit for memory, kIo otherwise.
Error file_error(const char* action, const std::string& path);

// A read-only map of a whole file, shared by copies and unmapped by the last one. An empty file
// maps to an empty span; a file that cannot be mapped, such as a named pipe, is read into memory.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  // Does the same with an open file, which stays the caller's.
  static Result<MappedFile> of(int fd, const std::string& path);
  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& path() const;
  int64_t mtime_ns() const;  // modification time at open, nanoseconds since 1970

 private:
  struct Map;
  std::shared_ptr<const Map> map_;
  std::span<const std::byte> bytes_;
};

// Reads a whole file, or standard input when path is "-".
Result<std::vector<std::byte>> read_file(const std::string& path);
Result<std::vector<std::byte>> read_descriptor(int fd);
Result<std::string> read_text(const std::string& path);

// Writes to a temporary file that gets its name in commit(); without commit nothing remains. A path
// that cannot be renamed over is written directly: "-", which is standard output, an existing file
// that is not regular, such as /dev/null or a named pipe, and an open file of a process.
class FileWriter {
 public:
  enum class Order { kForward, kRewriting };
  // kRewriting allows rewrite(). A target that cannot be rewritten, such as a pipe, then gets its
  // bytes in commit(), from an unnamed temporary file in the folder for temporary files ($TMPDIR,
  // or /tmp).
  static Result<FileWriter> create(const std::string& path, Order order = Order::kForward);
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();
  Result<void> write(std::span<const std::byte> bytes);
  Result<void> write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  Result<void> pad_to(uint64_t alignment);  // zeros up to the next multiple
  // Replaces bytes written before.
  Result<void> rewrite(uint64_t offset, std::span<const std::byte> bytes);
  uint64_t offset() const { return offset_; }
  // Between these two calls, bytes are written to the disk past the page cache where the file
  // allows it.
  void begin_uncached();
  Result<void> end_uncached();
  Result<void> commit();

 private:
  FileWriter(std::string path, std::optional<TemporaryFile> temporary, int fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}
  Result<void> make_rewritable();
  Result<void> copy_to_target();
  std::string path_;
  std::optional<TemporaryFile> temporary_;  // none when written directly
  int fd_ = -1;
  int target_ = -1;  // the file to which commit() copies an unnamed temporary file
  // The file was open before and is written from start_ on; without commit() it is truncated there.
  bool is_rewritable_ = false;
  uint64_t start_ = 0;
  uint64_t offset_ = 0;
  std::optional<UncachedFile> uncached_;
};

Result<void> write_file(const std::string& path, std::span<const std::byte> bytes);
Result<void> write_text(const std::string& path, std::string_view text);
// Returns a value's name as a file name without extension: '/' becomes '_', as do characters that
// no file name can contain; a long name is cut and ends with a part of its digest.
std::string file_name_of(std::string_view name);

// Assigns file names to several values in one folder: the second and later values with the same
// file name get "~2", "~3", ...
class FileNames {
 public:
  std::string take(std::string_view name);

 private:
  std::set<std::string> used_;
};

// Returns the path from any folder, without "." and "..". What ".." means behind a link, the system
// says; links that no ".." comes after stay.
std::string absolute_path(const std::string& path);
Result<void> make_directories(const std::string& path);
// Returns true when the path exists and is not a regular file: a device, a pipe, a folder.
bool is_special_file(const std::string& path);
// Writes all bytes to fd. A closed reader is kIo, never a signal (programs ignore SIGPIPE once, in
// main).
Result<void> write_descriptor(int fd, std::span<const std::byte> bytes);

}  // namespace sluice
