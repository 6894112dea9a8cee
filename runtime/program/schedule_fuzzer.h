// Runs the tasks of a part in one of the orders that its streams and events allow, drawn by a seed,
// and fills the bytes of its arena with 0xff, not-a-numbers, before the first task and wherever no
// task reads them any more: a schedule under which a task reads too early, or what another one has
// overwritten, then computes other values than in a plain run.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "runtime/executor/run.h"

namespace sluice {

// Finds what no task needs. Bytes are needed when, of the tasks that have not run yet, the first
// one that accesses them reads them; the tasks that share bytes run in the order of their numbers.
class UnusedBytes {
 public:
  // The run must have an arena when bytes are filled, and outlive this.
  explicit UnusedBytes(const Run& run);

  // Fills all bytes that no task needs.
  void fill_all();
  // Notes that a task is done, and fills those of its operands' bytes that no task needs.
  void fill_after(uint32_t task);

 private:
  struct Access {
    uint32_t task;
    bool reads;
  };
  // Bytes of the arena that the same tasks access.
  struct Piece {
    uint64_t begin, end;
    std::vector<Access> accesses;  // in the order of tasks
    size_t next = 0;               // the tasks before it are done
  };

  void find_pieces();
  void add_accesses(int task);
  void fill(Piece& piece);

  const Run& run_;
  std::vector<Piece> pieces_;  // by begin
  std::vector<std::vector<uint32_t>> pieces_of_task_;
  std::vector<bool> is_done_;  // by task
};

class ScheduleFuzzer {
 public:
  explicit ScheduleFuzzer(uint64_t seed) : random_(seed) {}

  // Returns an observer of one execution of the run, which both must outlive.
  WalkObserver observe(const Run& run);

 private:
  std::mt19937_64 random_;
};

}  // namespace sluice
