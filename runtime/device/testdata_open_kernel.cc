// An object that is not closed: it calls a function that it does not define.
#include "runtime/device/kernel_abi.h"

extern "C" float sluice_test_elsewhere(float);

extern "C" void k_open(const KernelArgs* args, uint32_t, uint32_t) {
  auto* x = static_cast<float*>(args->pointers[0]);
  *x = sluice_test_elsewhere(*x);
}
