// Is compiled to an object of its own, which kernel_image_test loads: it has the form of a
// generated kernel, with a constant table, a call and an index that is loaded.
#include "runtime/device/kernel_abi.h"

namespace {
const float kTable[4] = {1.0f, 10.0f, 100.0f, 1000.0f};

__attribute__((noinline)) float scale(const float* x, uint32_t block) {
  return x[block] * kTable[block & 3];
}
}  // namespace

extern "C" __attribute__((visibility("hidden"))) void k_scale_by_table(const KernelArgs* args,
                                                                       uint32_t block, uint32_t) {
  static_cast<float*>(args->pointers[0])[block] =
      scale(static_cast<const float*>(args->pointers[1]), block);
}

// Picks y[block] = x[index[block]] of four elements; operands: y, x, index.
extern "C" __attribute__((visibility("hidden"))) void k_pick(const KernelArgs* args, uint32_t block,
                                                             uint32_t) {
  const int64_t index = static_cast<const int64_t*>(args->pointers[2])[block];
  const int64_t clamped = index < 0 ? 0 : index > 3 ? 3 : index;
  if (clamped != index) *args->fault = 1;
  static_cast<float*>(args->pointers[0])[block] =
      static_cast<const float*>(args->pointers[1])[clamped];
}
