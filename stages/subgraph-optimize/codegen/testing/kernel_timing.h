// Measures for the generator's benchmarks how fast a kernel is on this machine.
#pragma once

#include <vector>

#include "stages/subgraph-optimize/codegen/testing/kernels.h"

namespace sluice {

// Returns the seconds that this thread has computed: others may use the machine too.
double thread_seconds();

// A page-aligned array of floats whose values vary.
class FloatBuffer {
 public:
  explicit FloatBuffer(int64_t count);
  FloatBuffer(const FloatBuffer&) = delete;
  ~FloatBuffer();
  float* data() { return data_; }

 private:
  float* data_;
};

// Returns the shortest of 5 to 200 runs during about `limit` seconds, in seconds: the shortest is
// what the code can do on a machine that others use.
double best_time(RunnableKernel& kernel, const std::vector<void*>& pointers, double limit);

// Returns the multiply-add peak in FLOP/s, from a kernel that stays in registers and the first
// cache; 0 when the profile has no such kernel.
double measure_peak(const DeviceProfile& profile);

}  // namespace sluice
