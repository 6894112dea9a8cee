#include "common/base/files.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "common/base/digest.h"
#include "common/base/failure_header.h"
#include "common/base/program.h"

namespace sluice {
namespace {

constexpr size_t kMaxNameBytes = 200;  // file systems take 255; an ending and a number follow

}  // namespace

Error file_error(const char* what, const std::string& path) {
  const bool absent = errno == ENOENT || errno == EACCES || errno == ENOTDIR || errno == EISDIR;
  const ErrorCode code = absent            ? ErrorCode::kNotFound
                         : errno == ENOMEM ? ErrorCode::kLimit
                                           : ErrorCode::kIo;
  return make_error(code, "cannot {} '{}': {}", what, path, std::strerror(errno));
}

struct MappedFile::Map {
  std::string path;
  void* address = nullptr;
  size_t size = 0;
  int64_t mtime_ns = 0;
  std::vector<std::byte> content;  // of a file that cannot be mapped
  ~Map() {
    if (address != nullptr) ::munmap(address, size);
  }
};

Result<MappedFile> MappedFile::open(const std::string& path) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return file_error("open", path);
  return of(fd.get(), path);
}

Result<MappedFile> MappedFile::of(int fd, const std::string& path) {
  struct stat status{};
  if (::fstat(fd, &status) != 0 || S_ISDIR(status.st_mode)) {
    if (S_ISDIR(status.st_mode)) errno = EISDIR;
    return file_error("read", path);
  }
  auto map = std::make_shared<Map>();
  map->path = path;
  MappedFile file;
  if (!S_ISREG(status.st_mode)) {
    SLUICE_ASSIGN(map->content, read_descriptor(fd));
    file.bytes_ = map->content;
    file.map_ = std::move(map);
    return file;
  }
  map->size = static_cast<size_t>(status.st_size);
  map->mtime_ns =
      static_cast<int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
  if (map->size > 0) {
    void* address = ::mmap(nullptr, map->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (address == MAP_FAILED) return file_error("map", path);
    map->address = address;
  }
  file.bytes_ = {static_cast<const std::byte*>(map->address), map->size};
  file.map_ = std::move(map);
  return file;
}

const std::string& MappedFile::path() const { return map_->path; }
int64_t MappedFile::mtime_ns() const { return map_->mtime_ns; }

Result<std::vector<std::byte>> read_descriptor(int fd) {
  constexpr size_t kMinFree = 4096;
  std::vector<std::byte> bytes;
  size_t size = 0;
  while (true) {
    if (bytes.size() - size < kMinFree) {
      // The number of bytes that a pipe contains now; resize clears, so a larger buffer would be
      // wasted work.
      int waiting = 0;
      if (::ioctl(fd, FIONREAD, &waiting) != 0) waiting = 0;
      bytes.resize(
          std::max(size + static_cast<size_t>(std::max(waiting, 0)) + kMinFree, bytes.size() * 2));
    }
    const ssize_t got = ::read(fd, bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error("read", fmt::format("descriptor {}", fd));
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  bytes.resize(size);
  return bytes;
}

Result<std::vector<std::byte>> read_file(const std::string& path) {
  if (path == "-") return read_descriptor(STDIN_FILENO);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return file_error("open", path);
  struct stat status{};
  if (::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
    ::close(fd);
    errno = EISDIR;
    return file_error("read", path);
  }
  auto bytes = read_descriptor(fd);
  ::close(fd);
  if (!bytes) bytes.error().file = path;
  return bytes;
}

Result<std::string> read_text(const std::string& path) {
  SLUICE_ASSIGN(const std::vector<std::byte> bytes, read_file(path));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<void> write_descriptor(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      const bool reader_gone = errno == EPIPE;
      Error error = make_error(ErrorCode::kIo, "cannot write: {}", std::strerror(errno));
      if (reader_gone) error.reported_by = kGoneReader;
      return error;
    }
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
  return {};
}

Result<FileWriter> FileWriter::create(const std::string& path, Order order) {
  if (path == "-" || is_special_file(path) || is_path_of_descriptor(path)) {
    const int fd = path == "-" ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                               : ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return file_error("write", path == "-" ? "standard output" : path);
    FileWriter writer(path == "-" ? "standard output" : path, std::nullopt, fd);
    const off_t at = ::lseek(fd, 0, SEEK_CUR);
    writer.is_rewritable_ = at >= 0 && (::fcntl(fd, F_GETFL) & O_APPEND) == 0;
    if (writer.is_rewritable_) writer.start_ = static_cast<uint64_t>(at);
    if (order == Order::kRewriting) SLUICE_TRY(writer.make_rewritable());
    return writer;
  }
  std::string target = behind_links(path);
  SLUICE_ASSIGN(TemporaryFile temporary, TemporaryFile::create(target));
  // The writer has a descriptor of its own: closing that reports writes that failed late.
  const int fd = ::fcntl(temporary.descriptor(), F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return file_error("create", path);
  return FileWriter(std::move(target), std::move(temporary), fd);
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, std::nullopt)),
      fd_(std::exchange(other.fd_, -1)),
      target_(std::exchange(other.target_, -1)),
      is_rewritable_(other.is_rewritable_),
      start_(other.start_),
      offset_(other.offset_),
      uncached_(std::exchange(other.uncached_, std::nullopt)) {}

FileWriter::~FileWriter() {
  if (target_ >= 0) ::close(target_);
  if (fd_ < 0) return;
  const bool is_half_written = is_rewritable_ && offset_ > 0;
  if (is_half_written && ::ftruncate(fd_, static_cast<off_t>(start_)) == 0)
    ::lseek(fd_, static_cast<off_t>(start_), SEEK_SET);
  ::close(fd_);
}

Result<void> FileWriter::write(std::span<const std::byte> bytes) {
  if (uncached_) {
    if (!uncached_->write(bytes)) return file_error("write", path_);
    offset_ += bytes.size();
    return {};
  }
  auto written = write_descriptor(fd_, bytes);
  if (!written) return std::move(written).error().within(fmt::format("'{}'", path_));
  offset_ += bytes.size();
  return {};
}

void FileWriter::begin_uncached() {
  if (target_ < 0 && (is_rewritable_ || temporary_))
    uncached_ = UncachedFile::open(fd_, start_ + offset_);
}

Result<void> FileWriter::end_uncached() {
  if (!uncached_) return {};
  const bool finished =
      uncached_->finish() && ::lseek(fd_, static_cast<off_t>(start_ + offset_), SEEK_SET) >= 0;
  uncached_.reset();
  return finished ? Result<void>() : file_error("write", path_);
}

Result<void> FileWriter::pad_to(uint64_t alignment) {
  static constexpr std::array<std::byte, 4096> kZeros{};
  uint64_t missing = (alignment - offset_ % alignment) % alignment;
  while (missing > 0) {
    const uint64_t piece = std::min<uint64_t>(missing, kZeros.size());
    SLUICE_TRY(write(std::span(kZeros).first(piece)));
    missing -= piece;
  }
  return {};
}

Result<void> FileWriter::make_rewritable() {
  if (is_rewritable_) return {};
  std::error_code code;
  const std::string folder = std::filesystem::temp_directory_path(code).string();
  if (code)
    return make_error(ErrorCode::kIo,
                      "the folder for temporary files, which $TMPDIR names, is none");
  const int nameless = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (nameless < 0) return file_error("create a temporary file in", folder);
  target_ = std::exchange(fd_, nameless);
  path_ += fmt::format(", kept in {} until it is whole", folder);
  return {};
}

Result<void> FileWriter::rewrite(uint64_t offset, std::span<const std::byte> bytes) {
  assert(offset + bytes.size() <= offset_);
  for (uint64_t at = start_ + offset; !bytes.empty();) {
    const ssize_t put = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return file_error("write", path_);
    bytes = bytes.subspan(static_cast<size_t>(put));
    at += static_cast<uint64_t>(put);
  }
  return {};
}

Result<void> FileWriter::copy_to_target() {
  std::vector<std::byte> buffer(1 << 20);
  if (::lseek(fd_, 0, SEEK_SET) < 0) return file_error("read", path_);
  while (true) {
    const ssize_t got = ::read(fd_, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error("read", path_);
    if (got == 0) return {};
    auto written = write_descriptor(target_, std::span(buffer).first(static_cast<size_t>(got)));
    if (!written) return std::move(written).error().within(fmt::format("'{}'", path_));
  }
}

Result<void> FileWriter::commit() {
  if (target_ >= 0) {
    SLUICE_TRY(copy_to_target());
    ::close(std::exchange(fd_, std::exchange(target_, -1)));
  }
  const bool closed = ::close(std::exchange(fd_, -1)) == 0;
  if (!closed) return file_error("write", path_);
  return temporary_ ? temporary_->commit(path_) : Result<void>();
}

Result<void> write_file(const std::string& path, std::span<const std::byte> bytes) {
  SLUICE_ASSIGN(FileWriter writer, FileWriter::create(path));
  SLUICE_TRY(writer.write(bytes));
  return writer.commit();
}

Result<void> write_text(const std::string& path, std::string_view text) {
  return write_file(path, std::as_bytes(std::span(text)));
}

std::string file_name_of(std::string_view name) {
  std::string file(name);
  for (char& c : file) {
    if (c == '/' || static_cast<unsigned char>(c) < 32) c = '_';
  }
  if (file == "." || file == "..") file.back() = '_';
  if (file.size() <= kMaxNameBytes) return file;
  return file.substr(0, kMaxNameBytes - 17) + "~" + digest_hex(sha256(name)).substr(0, 16);
}

std::string FileNames::take(std::string_view name) {
  const std::string stem = file_name_of(name);
  std::string file = stem;
  for (int again = 2; !used_.insert(file).second; ++again) file = fmt::format("{}~{}", stem, again);
  return file;
}

bool is_special_file(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

std::string absolute_path(const std::string& path) {
  std::error_code failed;
  std::filesystem::path whole = std::filesystem::absolute(path, failed);
  if (failed) return path;
  const bool goes_up = std::ranges::any_of(whole, [](const auto& part) { return part == ".."; });
  if (goes_up) {
    const auto folder = std::filesystem::weakly_canonical(whole.parent_path(), failed);
    if (!failed) whole = folder / whole.filename();
  }
  return whole.lexically_normal().string();
}

Result<void> make_directories(const std::string& path) {
  if (path.empty()) return {};  // the current one
  std::error_code code;
  std::filesystem::create_directories(path, code);
  if (code)
    return make_error(ErrorCode::kIo, "cannot create folder '{}': {}", path, code.message());
  return {};
}

}  // namespace sluice
