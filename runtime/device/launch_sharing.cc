#include "runtime/device/launch_sharing.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr float kSmallNs = 1e5F;      // far less than an interruption
constexpr uint32_t kProbes = 128;     // one of so many small launches is run alone, to measure it
constexpr double kSavingsNs = 1e7;    // at most so much of what was saved makes up for losses
constexpr double kLossNs = 5e4;       // sharing is given up after so much
constexpr double kFirstPatience = 4;  // it is tried again after so many times the loss
constexpr double kLastPatience = 64;  // and after this many when it was in vain each time before

// Moves a mean towards a measurement. One that is far larger was interrupted, and counts no more
// than one that is twice the mean.
void add_to_mean(float& mean, double ns) {
  const auto measured = static_cast<float>(ns);
  mean = mean == 0 ? measured : mean + (std::min(measured, 2 * mean) - mean) / 8;
}

}  // namespace

bool LaunchSharing::is_worth(uint32_t task) {
  ++launches_;
  const float ns = alone_ns_[task];
  if (ns == 0) return true;
  return ns > kTinyNs && alone_left_ns_ <= 0 && (ns > kSmallNs || launches_ % kProbes != 0);
}

void LaunchSharing::note_alone(uint32_t task, double ns) {
  add_to_mean(alone_ns_[task], ns);
  alone_left_ns_ -= ns;
}

void LaunchSharing::note_shared(uint32_t task, double ns, double share_ns) {
  if (const double alone = expect_alone(task, share_ns); alone > 0) add_saving(alone - ns);
}

// Returns the time that the launch would have taken the walker alone. For a large launch that is
// its share, interruptions included, which it would have met too. The share of a small one is a
// bound only: the thread that should help may have interrupted the walker.
double LaunchSharing::expect_alone(uint32_t task, double share_ns) {
  float& alone = alone_ns_[task];
  if (share_ns == 0) return alone;
  if (alone == 0 || alone > kSmallNs) {
    add_to_mean(alone, share_ns);
    return share_ns;
  }
  alone = std::min(alone, static_cast<float>(share_ns));
  return alone;
}

void LaunchSharing::add_saving(double ns) {
  saved_ns_ += ns;
  if (saved_ns_ >= kSavingsNs) {
    saved_ns_ = kSavingsNs;
    patience_ = 0;
  }
  if (saved_ns_ > -kLossNs) return;
  patience_ = std::clamp(2 * patience_, kFirstPatience, kLastPatience);
  alone_left_ns_ = -saved_ns_ * patience_;
  saved_ns_ = 0;
}

}  // namespace sluice
