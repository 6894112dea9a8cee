// Decides whether other threads walk along in a run of several streams. Where other processes keep
// the cores busy, a stream waits for a thread that is interrupted, and one thread alone is sooner
// done with all of them. So the runs are measured, and now and then one is made the other way.
// Results never depend on it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice {

class StreamSharing {
 public:
  // Returns whether other threads walk along in the next run.
  bool decide() {
    ++runs_;
    const bool is_better = alone_ns_ == 0 || shared_ns_ <= alone_ns_;
    if (is_better) return runs_ != kFirstAlone && runs_ % kAloneProbes != 0;
    return runs_ % kSharedProbes == 0;
  }
  // Notes the time of that run.
  void note(bool is_shared, double ns) {
    double& mean = is_shared ? shared_ns_ : alone_ns_;
    // The first runs find cold caches; one that is far longer than the mean was interrupted.
    mean = mean == 0 || runs_ < kFirstAlone ? ns : mean + (std::min(ns, 2 * mean) - mean) / 8;
  }

 private:
  static constexpr uint32_t kFirstAlone = 8;
  static constexpr uint32_t kAloneProbes = 128, kSharedProbes = 16;  // one of so many runs

  double shared_ns_ = 0, alone_ns_ = 0;  // means; 0: not known yet
  uint32_t runs_ = 0;
};

}  // namespace sluice
