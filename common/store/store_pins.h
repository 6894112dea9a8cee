// DIR/pins/HOST-PID-N of a store: what a running program needs, which `sluice cache gc` keeps. The
// program has the file locked while it runs. It is text:
//
//   since 1764213783123456789      everything used from this time on, in nanoseconds since 1970
//   3fa0…                          keys of records, or artifacts: a digest in a line
#pragma once

#include <cstdint>
#include <limits>
#include <mutex>
#include <set>
#include <string>

#include "common/base/digest.h"
#include "common/store/store_lock.h"

namespace sluice {

// Threads may use one at the same time.
class StorePins {
 public:
  // An empty path is no store. One that cannot be written is never collected either, so it needs no
  // pins.
  explicit StorePins(std::string store) : store_(std::move(store)) {}
  // Makes the file: what is used from now on is pinned.
  void start();
  // Also pins a record with the artifacts that it names, or an artifact. It need not be there yet.
  void add(const Digest& digest);

 private:
  void make_file();
  std::mutex mutex_;
  std::string store_;  // empty once the file has been made, or cannot be
  StoreLock file_;
};

// The pins of all programs that run.
struct PinnedFiles {
  std::set<Digest> digests;
  int64_t since = std::numeric_limits<int64_t>::max();

  bool holds(const Digest& digest, int64_t use) const {
    return use >= since || digests.contains(digest);
  }
};

enum class AbandonedPins { kKeep, kRemove };
// abandoned: what happens to the files of programs that have ended without removing them.
PinnedFiles read_pins(const std::string& store, AbandonedPins abandoned);

}  // namespace sluice
