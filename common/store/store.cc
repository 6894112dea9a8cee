#include "common/store/store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "common/base/store.h"
#include "common/base/store_size.h"

namespace sluice {
namespace {

// Gives an open file another name. The name may exist already, with the same bytes.
bool link_file(const std::string& file, const std::string& name) {
  const auto linked = write_in_folder_of(name, [&]() -> Result<void> {
    if (::linkat(AT_FDCWD, file.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0 ||
        errno == EEXIST)
      return {};
    return file_error("link", name);
  });
  return linked.ok();
}

// A link makes the artifact and the user's file one: nobody shall write into it by accident.
void make_read_only(const std::string& file) {
  struct stat status{};
  if (::stat(file.c_str(), &status) == 0) ::chmod(file.c_str(), status.st_mode & 0555);
}

constexpr std::chrono::minutes kLockPatience{10};
constexpr std::chrono::milliseconds kLockPause{5};

}  // namespace

std::string record_path(const std::string& store, const Digest& key, std::string_view folder) {
  return store_path(fmt::format("{}/{}", store, folder), key);
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

std::optional<Record> Store::find_in(std::string_view folder, const Digest& key) {
  if (!is_used()) return std::nullopt;
  const std::string path = record_path(path_, key, folder);
  if (is_no_entry(path)) return std::nullopt;  // a named pipe would be waited for
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
  put(digest, bytes);
  return digest;
}

bool Store::put(const Digest& digest, std::span<const std::byte> bytes) {
  const Result<uint64_t> added = put_in_store(path_, digest, bytes);
  if (!added) return note(added.error().message), false;
  added_bytes_ += *added;
  return true;
}

void Store::keep(const Record& record) {
  keep_in(kRecords, record);
  if (tier_.kept_record) tier_.kept_record(record.key());
}

void Store::keep_job(const Record& record) { keep_in(kJobs, record); }
void Store::keep_failure(const Record& record) { keep_in(kFailures, record); }

void Store::forget_failure(const Digest& key) {
  if (is_used()) ::unlink(record_path(path_, key, kFailures).c_str());
}

void Store::keep_in(std::string_view folder, const Record& record) {
  if (!is_used()) return;
  const std::string path = record_path(path_, record.key(), folder);
  const std::string text = record_text(record);
  if (is_no_entry(path)) return note(fmt::format("'{}' is no regular file", path));
  const auto written = write_in_folder_of(path, [&] { return write_text(path, text); });
  if (!written) return note(written.error().message);
  added_bytes_ += text.size();
}

std::optional<Digest> Store::keep_file(const std::string& file) {
  Result<MappedFile> map = MappedFile::open(file);
  if (!map) {
    note(map.error().message);
    return std::nullopt;
  }
  const Digest digest = sha256(map->bytes());
  const std::string path = store_path(path_, digest);
  if (::access(path.c_str(), F_OK) != 0 && link_file(file, path)) {
    make_read_only(path);
    added_bytes_ += map->bytes().size();
    return digest;
  }
  if (!put(digest, map->bytes())) return std::nullopt;
  return digest;
}

uint64_t Store::take_added_bytes() {
  const uint64_t bytes = added_bytes_.exchange(0);
  add_to_store_size(path_, bytes);
  return bytes;
}

StoreLock Store::lock(const Digest& key, const std::function<bool()>& stop) const {
  if (!is_used() || !make_directories(path_ + "/locks")) return {};
  const std::string path = path_ + "/locks/" + digest_hex(key);
  const auto end = std::chrono::steady_clock::now() + kLockPatience;
  while (!stop() && std::chrono::steady_clock::now() < end) {
    StoreLock::Trial trial = StoreLock::try_file(path, StoreLock::Making::kIfMissing);
    if (!trial.is_held) return std::move(trial.lock);
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
