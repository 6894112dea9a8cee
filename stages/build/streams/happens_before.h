// The order that streams and events give to tasks: vector clocks (C. J. Fidge, "Timestamps in
// message-passing systems that preserve the partial ordering", 1988; F. Mattern, "Virtual time and
// global states of distributed systems", 1989), one number for each task and stream.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/ir/graph.h"

namespace sluice {

// The clocks of tasks, which are added in the order of their positions, from 0 on.
class TaskClocks {
 public:
  explicit TaskClocks(size_t streams) : streams_(streams), by_stream_(streams) {}

  // Adds the next task: it comes after the one before it in its stream.
  void add(uint32_t stream);
  // Lets the newest task come after an earlier one, and all that this one comes after.
  void wait_for(uint32_t earlier);

  // Returns the last task of the stream that is done before the task at `position` begins; -1: none
  // need be. Its own stream counts.
  int64_t last_done(uint32_t stream, uint32_t position) const {
    return clocks_[size_t{position} * streams_ + stream];
  }
  uint32_t stream_of(uint32_t position) const { return stream_of_[position]; }
  std::span<const uint32_t> positions(uint32_t stream) const { return by_stream_[stream]; }
  uint32_t stream_count() const { return static_cast<uint32_t>(streams_); }

 private:
  size_t streams_;
  std::vector<uint32_t> stream_of_;               // by position
  std::vector<int64_t> clocks_;                   // by position and stream
  std::vector<std::vector<uint32_t>> by_stream_;  // positions, ascending
};

class HappensBefore {
 public:
  // Reads streams, waits and records of the graph's tasks, which all have a stream; events are
  // recorded at earlier positions than they are waited for.
  explicit HappensBefore(const Graph& graph);

  int64_t last_done(uint32_t stream, uint32_t position) const {
    return clocks_.last_done(stream, position);
  }
  // Returns whether the task at `a` is done before that at `b` begins.
  bool is_before(uint32_t a, uint32_t b) const { return last_done(stream_of(a), b) >= a; }

  uint32_t stream_of(uint32_t position) const { return clocks_.stream_of(position); }
  std::span<const uint32_t> positions(uint32_t stream) const { return clocks_.positions(stream); }
  uint32_t stream_count() const { return clocks_.stream_count(); }

 private:
  TaskClocks clocks_;
};

}  // namespace sluice
