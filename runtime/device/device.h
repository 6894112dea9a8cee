// The CPU as a device: what a run holds of the process's threads. A run on T threads is walked by
// the thread that called it, helped by at most T - 1 others, which all runs share. At most as many
// threads are busy in the process as the device with the most threads has; "busy" is who runs
// blocks and who walks a run, whatever the walker does between launches.
//
// After fork() the child has the devices of the parent and none of its threads: it starts threads
// of its own when it first needs them. Everything here is safe to call from any thread.
#pragma once

#include <memory>
#include <span>

#include "runtime/device/worker_pool.h"

namespace sluice {

class Device {
 public:
  ~Device();  // no run may be in progress
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int threads() const { return threads_; }
  // Starts the threads where that has not happened yet in this process. Error: kLimit.
  Result<void> start_threads() {
    if (pool_->has_threads(threads_)) return {};
    return pool_->start_threads(threads_);
  }

  // The right of a walking thread to work on the device, while in scope. Waits while all slots are
  // acquired. A thread that has a slot gets it again at once.
  class WalkerSlot {
   public:
    explicit WalkerSlot(Device& device);
    ~WalkerSlot();
    WalkerSlot(const WalkerSlot&) = delete;
    WalkerSlot& operator=(const WalkerSlot&) = delete;

   private:
    WorkerPool* pool_ = nullptr;    // null: the thread had a slot
    WorkerPool* before_ = nullptr;  // where the thread sat before, in another pool
  };

  // Runs a launch whole, on the calling thread, which has a slot, and the device's own.
  void run(const Launch& launch, Scratch& scratch);

  // Puts a launch in flight; its operands must live until end(). Returns its slot, or -1, and the
  // caller runs it: 64 are in flight already, or the device has one thread.
  int begin(const Launch& launch) { return pool_->begin(launch, threads_); }
  // Runs blocks of it on the calling thread until none is left to take.
  void help(int slot, Scratch& scratch) { pool_->help(slot, scratch); }
  // Every block has run. Once true, the launch is over; asked again, it may be false for a moment,
  // while a thread looks in vain for blocks.
  bool finished(int slot) const { return pool_->finished(slot); }
  void wait_any(std::span<const int> slots) {
    pool_->wait_any(slots);
  }  // until one of them has been finished
  void end(int slot) {
    pool_->end(slot);
  }  // gives the slot of a finished launch back; the slot is the caller's no more

  static constexpr int kSlots = WorkerPool::kSlots;

 private:
  friend class ProcessDevices;
  Device(int threads, std::shared_ptr<WorkerPool> pool)
      : threads_(threads), pool_(std::move(pool)) {}

  const int threads_;
  std::shared_ptr<WorkerPool> pool_;  // of the process
};

// The device of this process with T >= 1 threads: made on first use, the same one while anybody
// holds it. Error: kLimit when the threads cannot be had.
Result<std::shared_ptr<Device>> shared_device(int threads);

}  // namespace sluice
