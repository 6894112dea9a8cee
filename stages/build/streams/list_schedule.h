// List scheduling of tasks on several streams, for threads that share the blocks of a launch: R. L.
// Graham, "Bounds on Multiprocessing Timing Anomalies", 1969; the order of tasks by the longest
// path that is left: T. C. Hu, "Parallel Sequencing and Assembly Line Problems", 1961.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

// Times are cycles.
struct CostedTask {
  double cycles = 0;    // of one thread; 0: no task, its results are there as soon as its operands
  uint32_t blocks = 1;  // threads that can share it
  std::vector<uint32_t> before, after;  // tasks
  std::vector<double> transfer;  // by `before`: to read what that one made, if in another stream
};

struct ScheduleLimits {
  uint32_t streams = 2;
  uint32_t threads = 2;
  double sync = 0;  // what it takes until a task of another stream begins after one
  // The tasks of the longest path run in stream 0, and no others do.
  bool keeps_main = false;
  // Where each task of the region runs; empty: that is to be chosen.
  std::span<const uint32_t> chosen = {};
};

// Of each task of a region. Each stream's tasks begin in the order of `order`.
struct ListSchedule {
  std::vector<uint32_t> stream;  // by task of the region
  std::vector<uint32_t> order;   // as they begin: tasks of the region
  double cycles = 0;             // until the last one is done, for a reader in stream 0
  uint32_t waits = 0;            // of tasks for those of other streams, the reader's among them
};

// Returns for each task the longest path from its beginning, on as many threads as can share it.
// Tasks are numbered in an order that they can run in.
std::vector<double> longest_paths(std::span<const CostedTask> tasks, uint32_t threads);

// Returns a stream for each task of a region, the same for all that depend on each other: the
// longest row of tasks that do is put where least is, and so on.
std::vector<uint32_t> spread_components(std::span<const CostedTask> tasks, uint32_t begin,
                                        uint32_t end, const ScheduleLimits& limits);

// Returns a stream for each task of a region, the same for all of a chain, in which each task reads
// the one before it and nothing else does: chains are scheduled as if each were a task.
std::vector<uint32_t> spread_chains(std::span<const CostedTask> tasks, uint32_t begin, uint32_t end,
                                    const ScheduleLimits& limits);

// Returns the time of tasks that run one after the other.
double serial_cycles(std::span<const CostedTask> tasks, uint32_t threads);

// Schedules the tasks from `begin` to `end`; those before `begin` are done. Where a stream is busy,
// another takes a task only if both are then done sooner than one after the other.
// O((tasks + edges) log tasks).
ListSchedule schedule_list(std::span<const CostedTask> tasks, uint32_t begin, uint32_t end,
                           std::span<const double> paths, const ScheduleLimits& limits);

}  // namespace sluice
