// The order that streams and events give to tasks: vector clocks (C. J. Fidge, "Timestamps in
// message-passing systems that preserve the partial ordering", 1988; F. Mattern, "Virtual time and
// global states of distributed systems", 1989). What a task knows of other streams changes where it
// waits, so tasks of a stream share a clock from one wait to the next: four bytes for each stream
// and each task that waits.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/ir/graph.h"

namespace sluice {

// The clocks of tasks, which are added in the order of their positions, from 0 on.
class TaskClocks {
 public:
  explicit TaskClocks(size_t streams) : streams_(streams), by_stream_(streams) {}
  // Copies would share nothing, and are as large.
  TaskClocks(const TaskClocks&) = delete;
  TaskClocks& operator=(const TaskClocks&) = delete;

  // Adds the next task: it comes after the one before it in its stream.
  void add(uint32_t stream);
  // Lets the newest task come after an earlier one, and all that this one comes after.
  void wait_for(uint32_t earlier);

  // Returns the last task of the stream that is done before the task at `position` begins; -1: none
  // need be. Its own stream counts.
  int64_t last_done(uint32_t stream, uint32_t position) const {
    if (stream == stream_of_[position]) return before_[position];
    const std::span<const int32_t> known = known_by(position);
    return known.empty() ? -1 : known[stream];
  }
  // Returns the same for all streams, but that of its own does not count; empty: of none.
  std::span<const int32_t> known_by(uint32_t position) const {
    const int32_t clock = clock_of_[position];
    if (clock < 0) return {};
    return {clocks_[static_cast<size_t>(clock)].get(), streams_};
  }
  uint32_t stream_of(uint32_t position) const { return stream_of_[position]; }
  std::span<const uint32_t> positions(uint32_t stream) const { return by_stream_[stream]; }
  uint32_t stream_count() const { return static_cast<uint32_t>(streams_); }
  uint32_t task_count() const { return static_cast<uint32_t>(stream_of_.size()); }

 private:
  int32_t* own_clock(uint32_t position);

  size_t streams_;
  std::vector<uint32_t> stream_of_;  // by position
  std::vector<int32_t> before_;      // by position: the task before in its stream, -1
  std::vector<int32_t> clock_of_;    // by position: into clocks_, -1 knows nothing
  std::vector<std::unique_ptr<int32_t[]>> clocks_;  // each by other stream: its last task done
  std::vector<std::vector<uint32_t>> by_stream_;    // positions, ascending
};

class HappensBefore {
 public:
  // Reads streams, waits and records of the graph's tasks, which all have a stream; records are at
  // earlier positions than the waits for them.
  explicit HappensBefore(const Graph& graph);

  int64_t last_done(uint32_t stream, uint32_t position) const {
    return clocks_.last_done(stream, position);
  }
  std::span<const int32_t> known_by(uint32_t position) const { return clocks_.known_by(position); }
  // Returns whether the task at `a` is done before that at `b` begins.
  bool is_before(uint32_t a, uint32_t b) const { return last_done(stream_of(a), b) >= a; }

  uint32_t stream_of(uint32_t position) const { return clocks_.stream_of(position); }
  std::span<const uint32_t> positions(uint32_t stream) const { return clocks_.positions(stream); }
  uint32_t stream_count() const { return clocks_.stream_count(); }
  uint32_t task_count() const { return clocks_.task_count(); }

 private:
  TaskClocks clocks_;
};

}  // namespace sluice
