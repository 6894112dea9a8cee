// Decides which launches of a run other threads help with. Help costs the walker more than it saves
// where a launch is tiny, and where other processes keep the cores busy, because the walker waits
// for a thread that is interrupted inside a block. So the walker measures its launches, and works
// alone where help does not pay. Results never depend on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice {

class LaunchSharing {
 public:
  explicit LaunchSharing(size_t tasks) : alone_ns_(tasks, 0) {}

  // Returns whether the next launch of a task, of several blocks, is so tiny that the walker runs
  // it alone, and reading the clock around it would only cost time.
  bool is_known_tiny(uint32_t task) {
    const float ns = alone_ns_[task];
    return ns > 0 && ns <= kTinyNs && ++tiny_launches_ % kTinyProbes != 0;
  }
  // Returns whether it is to be shared.
  bool is_worth(uint32_t task);
  // Notes the time of a launch that the walker ran alone.
  void note_alone(uint32_t task, double ns);
  // Notes the time of a launch that was shared. share_ns: the time that the walker had needed for
  // all blocks if each had taken it as long as its own; 0 when it ran none.
  void note_shared(uint32_t task, double ns, double share_ns);

 private:
  static constexpr float kTinyNs = 4e3F;       // about what it costs to wake a thread
  static constexpr uint32_t kTinyProbes = 16;  // one of so many tiny launches is measured

  double expect_alone(uint32_t task, double share_ns);
  void add_saving(double ns);

  std::vector<float> alone_ns_;  // by task: how long it takes one thread; 0: not known yet
  uint32_t tiny_launches_ = 0;
  uint32_t launches_ = 0;     // that is_worth was asked about
  double saved_ns_ = 0;       // by sharing, since it was last given up
  double alone_left_ns_ = 0;  // time of launches until sharing is tried again
  double patience_ = 0;       // that time for each ns lost
};

}  // namespace sluice
