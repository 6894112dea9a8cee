// Writes to one pipe while reading another, so that neither of the two processes waits for ever.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "common/base/descriptor.h"

namespace sluice {

struct Exchange {
  enum class End {
    kComplete,
    kClosed,     // the other process closed its end
    kTime,       // the deadline passed
    kTooMuch,    // more than max_bytes came
    kAbandoned,  // the other end of `watched` was closed
  };
  using Clock = std::chrono::steady_clock;

  Descriptor* to = nullptr;  // is closed when all is written, or cannot be
  bool keeps_open = false;   // it is not, when all is written
  std::span<const std::byte> head, body;
  int from = -1;
  // Returns whether what came is all; without it all is what comes before the end.
  std::function<bool(std::span<const std::byte> received)> is_complete;
  std::optional<Clock::time_point> deadline;
  uint64_t max_bytes = UINT64_MAX;
  int watched = -1;
  int process = -1;                // the other process, as a descriptor; -1: unknown
  std::function<void()> on_ended;  // is called when it has ended, and what it wrote may still come

  // Appends what is read.
  End run(std::vector<std::byte>& received);

 private:
  void write_some();
  std::optional<End> read_some(std::vector<std::byte>& received);

  size_t written_ = 0;
};

}  // namespace sluice
