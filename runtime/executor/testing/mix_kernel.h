// The kernel that the tasks of testing::make_three_streams() launch.
#pragma once

#include "common/omfile/testing/three_streams.h"
#include "runtime/loader/opened_model.h"

namespace sluice::testing {

// Computes out = mix_elements(in0, in1); operands: out, in0, in1. in0 may be out.
inline void mix_kernel(const KernelArgs* args, uint32_t block, uint32_t blocks) {
  auto* out = static_cast<uint32_t*>(args->pointers[0]);
  const auto* a = static_cast<const uint32_t*>(args->pointers[1]);
  const auto* b = static_cast<const uint32_t*>(args->pointers[2]);
  const auto elements = static_cast<uint32_t>(kThreeStreamsElements);
  for (uint32_t i = elements * block / blocks; i < elements * (block + 1) / blocks; ++i)
    out[i] = mix_elements(a[i], b[i]);
}

inline TestKernels mix_kernels() { return {{"mix", mix_kernel}}; }

}  // namespace sluice::testing
