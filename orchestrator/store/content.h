// What is in the folder of a store: every artifact and record with its bytes and its last use, and
// what programs left behind that were killed. Files that are not called as a store calls them are
// none of ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/digest.h"
#include "common/base/result.h"
#include "common/store/store.h"

namespace sluice {

struct StoreFile {
  Digest digest;  // of an artifact, or the key of a record
  uint64_t bytes = 0;
  int64_t use = 0;         // nanoseconds since 1970, not after StoreContent::now
  bool is_linked = false;  // it has another name, such as a user's: deleting this one frees nothing

  uint64_t own_bytes() const { return is_linked ? 0 : bytes; }
};

struct StoreRecord {
  StoreFile file;
  std::string_view folder = kRecords;  // or kJobs, kFailures
  std::string kind;                    // empty: damaged, or written by another release
  std::vector<Digest> artifacts;       // that it needs
  std::optional<Digest> graph;         // the file digest of the graph that it made
  bool is_noticed = false;             // reading it has counted as a use: it is another user's

  std::string path(const std::string& store) const {
    return record_path(store, file.digest, folder);
  }
};

struct StoreContent {
  std::string path;
  int64_t now = 0;
  std::vector<StoreFile> artifacts;   // by digest
  std::vector<StoreRecord> records;   // by key
  std::vector<std::string> leftover;  // unfinished files older than a day
  std::vector<std::string> folders;   // of artifacts and records

  const StoreFile* find_artifact(const Digest& digest) const;
  uint64_t own_bytes() const;     // of files that have no other name
  uint64_t linked_bytes() const;  // of the others
};

// Returns an error unless the folder is a store, or empty. Errors: kNotFound, kBadFile.
Result<void> check_store(const std::string& path);

// Looks at every file, and reads the records without counting that as a use. Errors: those of
// check_store, and of folders that cannot be read.
Result<StoreContent> read_content(const std::string& path);

// Returns the last use of a file, which is the last time that it was written or read, and not
// after `now`; nothing when it is not there.
std::optional<int64_t> find_use(const std::string& path, int64_t now);

}  // namespace sluice
