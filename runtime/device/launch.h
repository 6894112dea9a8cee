// A launch: the work that the device runs for one task of a stream. A launch is a leaf; its blocks
// write disjoint bytes and wait for nothing. The one exception is an offer to walk along
// (task_queue.h): its block waits for blocks of other launches.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "common/base/result.h"
#include "runtime/device/kernel_abi.h"

namespace sluice {

// The first failure of a run in task order, whichever thread met it first.
class Failure {
 public:
  uint32_t task() const { return task_; }  // of the failure that was taken last
  bool happened() const { return happened_.load(std::memory_order_acquire); }
  void note(uint32_t task, Error error) {
    const std::lock_guard lock(mutex_);
    if (!happened_.load(std::memory_order_relaxed) || task < task_) {
      task_ = task;
      error_ = std::move(error);
    }
    happened_.store(true, std::memory_order_release);
  }
  // Returns the failure and forgets it; ok without one. To be called only while nothing is in
  // flight.
  Result<void> take() {
    if (!happened_.exchange(false)) return {};
    return std::move(error_);
  }

 private:
  std::atomic<bool> happened_{false};
  std::mutex mutex_;
  uint32_t task_ = 0;
  Error error_;
};

// The function of a task that is C++ code: host_cpu nodes and copies. The model owns state, the run
// owns operands. Most tasks have one block, number 0.
using CallFunction = Result<void> (*)(const void* state, void* const* operands, uint32_t block);

struct Launch {
  KernelFunction kernel = nullptr;  // called once per block; or, when null:
  CallFunction call = nullptr;      // also once per block
  const void* call_state = nullptr;
  void* const* operands = nullptr;
  const int64_t* symbols = nullptr;  // of the kernel; null without
  uint32_t blocks = 1;
  uint32_t scratch_bytes = 0;
  bool flush_denormals = false;  // around kernel; never around call
  uint32_t task = 0;             // names the launch in a failure
  Failure* failure = nullptr;    // where errors go: of call, of memory for scratch, and of indices
                                 // that the kernel found out of range; never null when one can
                                 // occur
};

// A thread's own scratch, 64-byte aligned; it grows on demand and is kept. Null when there is no
// memory for it.
class Scratch {
 public:
  void* get(uint32_t bytes) {
    if (bytes > bytes_) {
      const uint32_t rounded = (bytes + 63u) & ~63u;
      void* memory = std::aligned_alloc(64, rounded);
      if (memory == nullptr) return nullptr;
      memory_.reset(memory);
      bytes_ = rounded;
    }
    return bytes == 0 ? nullptr : memory_.get();
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
  uint32_t bytes_ = 0;
};

// Runs all blocks on this thread, in order.
void run_inline(const Launch& launch, Scratch& scratch);

}  // namespace sluice
