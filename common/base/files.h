// Files: whole reads, read-only maps, and writes that appear under their final name only when
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
#include "common/base/uncached_file.h"

namespace sluice {

// What errno says about an action ("open") on a file. kNotFound: its path cannot be used; kLimit:
// memory; kIo: the rest.
Error file_error(const char* action, const std::string& path);

// A read-only map of a whole file, shared by copies; unmapped by the last one. Empty files map to
// an empty span; what cannot be mapped, such as a named pipe, is read into memory.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& path() const;
  int64_t mtime_ns() const;  // modification time at open, nanoseconds since 1970

 private:
  struct Map;
  std::shared_ptr<const Map> map_;
  std::span<const std::byte> bytes_;
};

// The whole of a file, or of standard input when path is "-".
Result<std::vector<std::byte>> read_file(const std::string& path);
Result<std::vector<std::byte>> read_descriptor(int fd);
Result<std::string> read_text(const std::string& path);

// Writes to "<path>.tmp<pid>" and renames in commit(); without commit the temporary is removed.
// What cannot be renamed over is written directly: path "-", which is standard output, and what
// exists and is no regular file, such as /dev/null or a named pipe.
class FileWriter {
 public:
  enum class Order { kForward, kRewriting };
  // kRewriting: for rewrite(). What cannot be rewritten, such as a pipe, then gets its bytes in
  // commit(), from a temporary file without name in the folder for such files ($TMPDIR, else /tmp).
  static Result<FileWriter> create(const std::string& path, Order order = Order::kForward);
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();
  Result<void> write(std::span<const std::byte> bytes);
  Result<void> write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  Result<void> pad_to(uint64_t alignment);  // zeros up to the next multiple
  Result<void> rewrite(uint64_t offset,
                       std::span<const std::byte> bytes);  // over bytes written before
  uint64_t offset() const { return offset_; }
  // Where the file allows it, what is written between these two goes to the disk past the page
  // cache.
  void begin_uncached();
  Result<void> end_uncached();
  Result<void> commit();

 private:
  FileWriter(std::string path, std::string temporary, int fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}
  Result<void> make_rewritable();
  Result<void> copy_to_target();
  std::string path_;
  std::string temporary_;  // empty when written directly
  int fd_ = -1;
  int target_ = -1;             // where commit() copies a temporary file without name to
  bool is_rewritable_ = false;  // a file that was open before, written from start_ on; without
                                // commit() it is cut there
  uint64_t start_ = 0;
  uint64_t offset_ = 0;
  std::optional<UncachedFile> uncached_;
};

Result<void> write_file(const std::string& path, std::span<const std::byte> bytes);
Result<void> write_text(const std::string& path, std::string_view text);
// A value's name as a file name without ending: '/' becomes '_', as do characters no file name can
// hold; long names are cut and end with a part of their digest.
std::string file_name_of(std::string_view name);

// File names for several values of one folder: the second and later values of one file name get
// "~2", "~3", ...
class FileNames {
 public:
  std::string take(std::string_view name);

 private:
  std::set<std::string> used_;
};

Result<void> make_directories(const std::string& path);
// Exists and is no regular file: a device, a pipe, a folder.
bool is_special_file(const std::string& path);
// Writes all bytes to fd; a closed reader is kIo, never a signal (callers ignore SIGPIPE once, in
// main).
Result<void> write_descriptor(int fd, std::span<const std::byte> bytes);

}  // namespace sluice
