/* The contract between a generated kernel and the device. Part of the .om format: changing it is a
 * new format version, and so is a new member of KernelArgs, which is appended: generated code reads
 * members by their place.
 *
 * A kernel is one closed machine-code function. The device calls it once for every block in [0,
 * blocks), in any order and on any threads; blocks of a launch write disjoint bytes and never wait
 * for each other. `blocks` depends on the model and the sizes of the operands alone (size_launch in
 * common/omfile/bind_part.h), so results do not depend on the number of threads. */
#ifndef SLUICE_RUNTIME_DEVICE_KERNEL_ABI_H_
#define SLUICE_RUNTIME_DEVICE_KERNEL_ABI_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct KernelArgs {
  void* const* pointers;  /* operands, in the order of KernelDef.arguments: outputs and inputs, each
                             64-byte aligned within its region but for pieces of a whole, which are
                             aligned to 4 bytes */
  const int64_t* symbols; /* the dims of all operands, in order; null for a kernel of fixed sizes */
  void* scratch;   /* this worker's own scratch, KernelDef.scratch_bytes, 64-byte aligned; contents
                      undefined; null when 0 */
  uint32_t* fault; /* this worker's own word, zero before its first block of the launch. A kernel
                      that loads an index out of range stores a number other than zero, clamps the
                      index and goes on; the run then fails and names the node. Never null */
};

typedef void (*KernelFunction)(const struct KernelArgs* args, uint32_t block, uint32_t blocks);

#ifdef __cplusplus
}
#endif

#endif /* SLUICE_RUNTIME_DEVICE_KERNEL_ABI_H_ */
