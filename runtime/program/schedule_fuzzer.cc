#include "runtime/program/schedule_fuzzer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice {
namespace {

bool is_in_arena(const pb::FixedPart& part, uint32_t value) {
  return value < static_cast<uint32_t>(part.value_region_size()) &&
         part.value_region(static_cast<int>(value)) == pb::REGION_ARENA;
}

// Returns whether a task leaves some bytes between the first and the last one of what it writes.
bool writes_with_gaps(const pb::FixedPart& part, int task, uint32_t value) {
  const bool has_rows_apart =
      part.value_capacity_size() > 0 && part.value_capacity(static_cast<int>(value)) != 0;
  return has_rows_apart || part.task_kind(task) == pb::TASK_APPEND;
}

}  // namespace

UnusedBytes::UnusedBytes(const Run& run)
    : run_(run), is_done_(static_cast<size_t>(run.model().part().task_kind_size()), false) {
  find_pieces();
}

void UnusedBytes::find_pieces() {
  const pb::FixedPart& part = run_.model().part();
  std::vector<uint64_t> borders;
  for (uint32_t value = 0; value < static_cast<uint32_t>(part.value_region_size()); ++value) {
    if (!is_in_arena(part, value)) continue;
    const int v = static_cast<int>(value);
    borders.push_back(part.value_offset(v));
    borders.push_back(part.value_offset(v) + part.value_bytes(v));
  }
  for (const uint64_t end : run_.model().arena_ends()) borders.push_back(end);
  std::ranges::sort(borders);
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  for (size_t i = 1; i < borders.size(); ++i)
    pieces_.push_back({.begin = borders[i - 1], .end = borders[i], .accesses = {}});
  pieces_of_task_.resize(is_done_.size());
  for (int task = 0; task < part.task_kind_size(); ++task) add_accesses(task);
}

void UnusedBytes::add_accesses(int task) {
  const pb::FixedPart& part = run_.model().part();
  const uint32_t begin = task == 0 ? 0 : part.task_operand_end(task - 1);
  for (uint32_t i = begin; i < part.task_operand_end(task); ++i) {
    const uint32_t value = part.operand(static_cast<int>(i));
    if (!is_in_arena(part, value)) continue;
    const uint64_t from = part.value_offset(static_cast<int>(value));
    const uint64_t to = from + part.value_bytes(static_cast<int>(value));
    const bool reads = i - begin >= part.task_outputs(task) || writes_with_gaps(part, task, value);
    for (auto piece = std::ranges::lower_bound(pieces_, from, {}, &Piece::begin);
         piece != pieces_.end() && piece->begin < to; ++piece) {
      std::vector<Access>& accesses = piece->accesses;
      if (!accesses.empty() && accesses.back().task == static_cast<uint32_t>(task)) {
        accesses.back().reads = accesses.back().reads || reads;
        continue;
      }
      accesses.push_back({static_cast<uint32_t>(task), reads});
      pieces_of_task_[static_cast<size_t>(task)].push_back(
          static_cast<uint32_t>(piece - pieces_.begin()));
    }
  }
}

void UnusedBytes::fill(Piece& piece) {
  while (piece.next < piece.accesses.size() && is_done_[piece.accesses[piece.next].task])
    ++piece.next;
  if (piece.next < piece.accesses.size() && piece.accesses[piece.next].reads) return;
  std::memset(run_.arena_byte(piece.begin), 0xff, piece.end - piece.begin);
}

void UnusedBytes::fill_all() {
  for (Piece& piece : pieces_) fill(piece);
}

void UnusedBytes::fill_after(uint32_t task) {
  is_done_[task] = true;
  for (const uint32_t piece : pieces_of_task_[task]) fill(pieces_[piece]);
}

WalkObserver ScheduleFuzzer::observe(const Run& run) {
  const auto unused = std::make_shared<UnusedBytes>(run);
  WalkObserver observer;
  observer.choose = [this, unused, is_first = true](size_t streams) mutable {
    if (std::exchange(is_first, false)) unused->fill_all();
    return static_cast<size_t>(random_() % streams);
  };
  observer.after_task = [unused](uint32_t task) -> Result<void> {
    unused->fill_after(task);
    return {};
  };
  return observer;
}

}  // namespace sluice
