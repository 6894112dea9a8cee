// A folder of results that programs, and hosts with one file system, share:
//
//   DIR/ab/abcd…            artifacts by their SHA-256 (common/base/store.h)
//   DIR/records/ab/ab12…    records (record.h) by their keys
//   DIR/jobs/ab/ab12…       the same without products: what is to be made, with where its input is
//   DIR/failures/ab/ab12…   why a job failed last
//   DIR/locks/ab12…         the keys whose results are being made; gc: files are being deleted
//   DIR/partial/…           what has come of artifacts (orchestrator/store/remote.h)
//   DIR/pins/HOST-PID-N     what running programs need (store_pins.h)
//   DIR/limit               the bytes that the store may have, as `sluice cache limit` writes them
//   DIR/size                about how many it has (common/base/store_size.h)
//
// Every file appears whole or not at all. All that is read is compared with its digest; what is
// damaged is deleted and counts as missing. A store that is full, read-only or damaged is no error:
// its user works as if there were none, and reports fault() once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/files.h"
#include "common/base/result.h"
#include "common/store/record.h"
#include "common/store/store_lock.h"

namespace sluice {

// The folders of records.
inline constexpr std::string_view kRecords = "records", kJobs = "jobs", kFailures = "failures";

// Where a store gets what it does not have, and what is notified of what it keeps. Fetching puts a
// file into the folder, where it is read like any other; it returns false when there is none.
struct StoreTier {
  std::function<bool(const Digest& key)> fetch_record;
  std::function<bool(const Digest& digest)> fetch_artifact;
  std::function<void(const Digest& key)> kept_record;
};

// Threads may use one store at the same time.
class Store {
 public:
  // An empty path is a store that has nothing and keeps nothing.
  explicit Store(std::string path) : path_(std::move(path)) {}
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store() { take_added_bytes(); }
  bool is_used() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
  void connect(StoreTier tier) { tier_ = std::move(tier); }  // before the first use

  // Returns the record of the kind and fields, and notes its use.
  std::optional<Record> find(const std::string& kind, const Fields& fields);
  std::optional<Record> find(const Digest& key);
  // Returns a map of an artifact whose bytes have been hashed, and notes its use.
  std::optional<MappedFile> find_artifact(const Digest& digest);

  // The same for jobs, and for the failures of jobs.
  std::optional<Record> find_job(const Digest& key);
  std::optional<Record> find_failure(const Digest& key);

  // Keeps bytes, and returns their digest.
  Digest keep(std::span<const std::byte> bytes);
  void keep(const Record& record);
  void keep_job(const Record& record);
  void keep_failure(const Record& record);
  void forget_failure(const Digest& key);
  // Keeps a file that the caller has written and nobody changes any more: by a link to it where the
  // file system allows that, else by a copy. Returns the digest of its bytes, or nothing when it is
  // not there then.
  std::optional<Digest> keep_file(const std::string& file);

  // Counts bytes that somebody else has put into the folder.
  void count_added(uint64_t bytes) { added_bytes_ += bytes; }
  // Adds what has been kept since the last call to the size of the store, and returns the number of
  // bytes. The end of the object does it, too.
  uint64_t take_added_bytes();

  // Waits for the right to make the result of a key: whoever else wants it waits, and then finds
  // it. Gives up when `stop` says so, or after ten minutes, since a process that was stopped may
  // have it. Where files cannot be locked nobody waits.
  StoreLock lock(const Digest& key, const std::function<bool()>& stop) const;

  // Returns what went wrong first, in the form "the store 'DIR' cannot be written: …".
  std::optional<std::string> fault() const;

 private:
  std::optional<Record> find_in(std::string_view folder, const Digest& key);
  std::optional<MappedFile> find_here(const Digest& digest);
  void keep_in(std::string_view folder, const Record& record);
  bool put(const Digest& digest, std::span<const std::byte> bytes);
  void note(std::string text);
  void note_damaged(const std::string& file);

  std::string path_;
  StoreTier tier_;
  std::atomic<uint64_t> added_bytes_ = 0;
  mutable std::mutex mutex_;
  std::optional<std::string> fault_;
};

std::string record_path(const std::string& store, const Digest& key,
                        std::string_view folder = kRecords);

}  // namespace sluice
