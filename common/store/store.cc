#include "common/store/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "common/base/store.h"

namespace sluice {
namespace {

constexpr char kRecords[] = "/records", kJobs[] = "/jobs", kFailures[] = "/failures";

std::string folder_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

// Sets the time of use, by which `sluice cache gc` chooses; the time of change stays.
void note_use(const std::string& path) {
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_NOW},
                             {.tv_sec = 0, .tv_nsec = UTIME_OMIT}};
  ::utimensat(AT_FDCWD, path.c_str(), times, 0);
}

// Gives an open file another name. The name may exist already, with the same bytes.
bool link_file(const std::string& file, const std::string& name) {
  return ::linkat(AT_FDCWD, file.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0 ||
         errno == EEXIST;
}

// A link makes the artifact and the user's file one: nobody shall write into it by accident.
void make_read_only(const std::string& file) {
  struct stat status{};
  if (::stat(file.c_str(), &status) == 0) ::chmod(file.c_str(), status.st_mode & 0555);
}

constexpr std::chrono::minutes kLockPatience{10};
constexpr std::chrono::milliseconds kLockPause{5};

bool is_file_at(const Descriptor& file, const std::string& path) {
  struct stat ours{}, there{};
  return ::fstat(file.get(), &ours) == 0 && ::stat(path.c_str(), &there) == 0 &&
         ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

}  // namespace

std::string record_path(const std::string& store, const Digest& key) {
  return store_path(store + kRecords, key);
}

std::optional<Record> Store::find(const std::string& kind, const Fields& fields) {
  return find(Record{kind, fields, {}}.key());
}

std::optional<Record> Store::find(const Digest& key) {
  std::optional<Record> record = find_in(kRecords, key);
  if (record || !tier_.fetch_record || !tier_.fetch_record(key)) return record;
  return find_in(kRecords, key);
}

std::optional<Record> Store::find_job(const Digest& key) { return find_in(kJobs, key); }
std::optional<Record> Store::find_failure(const Digest& key) { return find_in(kFailures, key); }

std::optional<Record> Store::find_in(const char* folder, const Digest& key) {
  if (!is_used()) return std::nullopt;
  const std::string path = store_path(path_ + folder, key);
  const Result<std::string> text = read_text(path);
  if (!text) return std::nullopt;
  std::optional<Record> record = parse_record(*text);
  if (!record || record->key() != key) {
    note_damaged(path);
    return std::nullopt;
  }
  note_use(path);
  return record;
}

std::optional<MappedFile> Store::find_artifact(const Digest& digest) {
  std::optional<MappedFile> file = find_here(digest);
  if (file || !tier_.fetch_artifact || !tier_.fetch_artifact(digest)) return file;
  return find_here(digest);
}

std::optional<MappedFile> Store::find_here(const Digest& digest) {
  if (!is_used()) return std::nullopt;
  const std::string path = store_path(path_, digest);
  if (is_no_entry(path)) return std::nullopt;
  Result<MappedFile> file = MappedFile::open(path);
  if (!file) return std::nullopt;
  if (sha256(file->bytes()) != digest) {
    note_damaged(path);
    return std::nullopt;
  }
  note_use(path);
  return std::move(file).value();
}

Digest Store::keep(std::span<const std::byte> bytes) {
  const Digest digest = sha256(bytes);
  if (!is_used()) return digest;
  if (auto put = put_in_store(path_, digest, bytes); !put) note(put.error().message);
  return digest;
}

void Store::keep(const Record& record) {
  keep_in(kRecords, record);
  if (tier_.kept_record) tier_.kept_record(record.key());
}

void Store::keep_job(const Record& record) { keep_in(kJobs, record); }
void Store::keep_failure(const Record& record) { keep_in(kFailures, record); }

void Store::forget_failure(const Digest& key) {
  if (is_used()) ::unlink(store_path(path_ + kFailures, key).c_str());
}

void Store::keep_in(const char* folder, const Record& record) {
  if (!is_used()) return;
  const std::string path = store_path(path_ + folder, record.key());
  auto written = make_directories(folder_of(path));
  if (written) written = write_text(path, record_text(record));
  if (!written) note(written.error().message);
}

std::optional<Digest> Store::keep_file(const std::string& file) {
  Result<MappedFile> map = MappedFile::open(file);
  if (!map) {
    note(map.error().message);
    return std::nullopt;
  }
  const Digest digest = sha256(map->bytes());
  const std::string path = store_path(path_, digest);
  const bool is_there = ::access(path.c_str(), F_OK) == 0;
  if (!is_there && make_directories(folder_of(path)) && link_file(file, path)) {
    make_read_only(path);
    return digest;
  }
  if (auto put = put_in_store(path_, digest, map->bytes()); !put) note(put.error().message);
  return digest;
}

StoreLock& StoreLock::operator=(StoreLock&& other) noexcept {
  release();
  path_ = std::move(other.path_);
  file_ = std::move(other.file_);
  return *this;
}

// The name is removed first, so that nobody can take the lock of a file without one.
void StoreLock::release() {
  if (file_) ::unlink(path_.c_str());
  file_.reset();
}

StoreLock Store::lock(const Digest& key, const std::function<bool()>& stop) const {
  if (!is_used() || !make_directories(path_ + "/locks")) return {};
  const std::string path = path_ + "/locks/" + digest_hex(key);
  const auto end = std::chrono::steady_clock::now() + kLockPatience;
  while (!stop() && std::chrono::steady_clock::now() < end) {
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (!file) return {};
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
      if (is_file_at(file, path)) return {path, std::move(file)};
      continue;  // its owner has just removed it
    }
    if (errno != EWOULDBLOCK) return {};
    std::this_thread::sleep_for(kLockPause);
  }
  return {};
}

std::optional<std::string> Store::fault() const {
  const std::lock_guard lock(mutex_);
  return fault_;
}

void Store::note(std::string text) {
  const std::lock_guard lock(mutex_);
  if (!fault_) fault_ = fmt::format("the store '{}' cannot be written: {}", path_, text);
}

void Store::note_damaged(const std::string& file) {
  ::unlink(file.c_str());
  const std::lock_guard lock(mutex_);
  if (!fault_) fault_ = fmt::format("'{}' in the store was damaged and is deleted", file);
}

}  // namespace sluice
