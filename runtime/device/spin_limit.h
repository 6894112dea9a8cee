// How long a thread looks for work before it sleeps.
#pragma once

#include <immintrin.h>

#include <chrono>
#include <cstdint>

namespace sluice {

// Becomes true once the calling thread has looked for work for 20 µs. Reading the clock costs about
// as much as a pause, so it is read rarely.
class SpinLimit {
 public:
  bool reached() {
    _mm_pause();
    if (++pauses_ % 16 != 0) return false;
    const auto now = std::chrono::steady_clock::now();
    if (pauses_ == 16) start_ = now;
    return now - start_ > std::chrono::microseconds(20);
  }
  void reset() { pauses_ = 0; }

 private:
  uint32_t pauses_ = 0;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace sluice
