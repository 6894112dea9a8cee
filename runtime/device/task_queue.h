// Streams of tasks, and the walk that runs them. Tasks of a stream run in order; streams
// run at the same time and are ordered by events only. An event is a counter of the run, which a
// record increments; a wait lets its stream go on when the counter has reached its number.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "common/base/result.h"
#include "runtime/device/device.h"
#include "runtime/device/launch_sharing.h"
#include "runtime/device/stream_sharing.h"

namespace sluice {

enum class TaskAction : uint8_t { kLaunch, kRecord, kWait };

// The part of a task that is the same in every run: everything but its operands' addresses.
struct StreamTask {
  TaskAction action = TaskAction::kLaunch;
  bool flush_denormals = false;
  uint32_t event = 0;   // of kRecord and kWait
  uint32_t record = 1;  // of kWait: how many records there must be
  uint32_t blocks = 1;
  uint32_t scratch_bytes = 0;
  uint32_t operand_begin = 0;  // index of its first operand in a run's table of addresses
  KernelFunction kernel = nullptr;
  CallFunction call = nullptr;  // when kernel is null
  const void* call_state = nullptr;
  const int64_t* symbols = nullptr;  // of the kernel; null without
};

// All tasks of a part, in an order that keeps the order within each stream. Immutable, shared by
// runs.
struct TaskQueue {
  std::vector<StreamTask> tasks;
  std::vector<std::vector<uint32_t>> streams;  // task numbers
  uint32_t events = 0;
};

// A lock that several threads of one walk need, and a thread that walks alone does not.
class WalkMutex {
 public:
  void be_needed(bool is_needed) { is_needed_ = is_needed; }  // while nobody has it
  void lock() {
    if (is_needed_) mutex_.lock();
  }
  void unlock() {
    if (is_needed_) mutex_.unlock();
  }
  std::mutex& needed() { return mutex_; }

 private:
  std::mutex mutex_;
  bool is_needed_ = true;
};
using WalkLock = std::unique_lock<WalkMutex>;

struct TaskTime {
  int64_t begin_ns = 0;  // steady clock
  int64_t end_ns = 0;
};

// Observers that a caller may attach to a walk; all are slow and optional. after_task runs after
// each completed task, for one at a time. With choose the thread that called run() runs all tasks,
// and before each is asked which of so many streams with a launch at their head goes on, from 0.
struct WalkObserver {
  std::vector<TaskTime>* times = nullptr;  // one per task
  std::function<Result<void>(uint32_t task)> after_task;
  std::function<size_t(size_t streams)> choose;
};

// The state of one run's walks; used for one run at a time, kept between runs. Of the streams with
// a launch at their head, the one whose task has the smallest number goes first. A stream that
// waits is looked at again when its event is recorded, so a walk takes O(tasks log streams).
//
// The thread that calls run() walks. Where several streams can go on, it offers the device's other
// threads to walk along: each takes a stream, runs its task, records its events and takes the next
// stream that can go on, so nobody waits for another thread to hand out tasks. Where that does not
// pay, it walks alone (stream_sharing.h).
class Walk {
 public:
  explicit Walk(const TaskQueue& queue);
  // Runs every task once. operands is the run's table of addresses. Returns the first failure in
  // task order; some tasks have then not run.
  Result<void> run(Device& device, void* const* operands, const WalkObserver& observer);
  uint32_t failed_task() const {
    return failure_.task();
  }  // of the run before, where a task failed

 private:
  void reset(Device& device, void* const* operands, const WalkObserver& observer);
  bool advance(uint32_t stream);  // over events; true when a launch has come to the head
  void record(uint32_t event);
  uint32_t take_ready();
  uint32_t take_chosen(size_t index);
  Launch launch_at(uint32_t stream);
  void collect_ready();
  void run_alone();
  void run_streams();
  void run_head(uint32_t stream, Scratch& scratch, WalkLock& lock);
  void run_launch(const Launch& launch, Scratch& scratch, WalkLock& lock);
  void retire(uint32_t stream);
  void offer_streams();
  static Result<void> join(const void* walk, void* const* operands, uint32_t block);
  void walk_along();
  void await_helper(WalkLock& lock);
  void end_offers();
  bool may_begin() const { return !failure_.happened(); }
  uint32_t head_task(uint32_t stream) const { return queue_.streams[stream][head_[stream]]; }

  const TaskQueue& queue_;
  Device* device_ = nullptr;  // of this run, as the two below
  void* const* operands_ = nullptr;
  const WalkObserver* observer_ = nullptr;
  static constexpr uint32_t kNoStream = UINT32_MAX;
  WalkMutex mutex_;                     // guards what follows, while several threads walk
  std::vector<uint32_t> head_;          // per stream: position of the first task not completed
  std::vector<uint32_t> events_;        // by event: number of records in this run
  std::vector<uint32_t> waiting_;       // by event: a stream that waits for it
  std::vector<uint32_t> also_waiting_;  // per stream: another one that waits for the same event
  std::vector<uint32_t> to_look_at_;    // streams that may be able to go on
  std::vector<uint32_t> ready_;         // a heap of streams with a launch at their head
  std::vector<int> offers_;             // slots of the device: offers to walk along
  uint32_t open_offers_ = 0;            // that no thread has begun
  uint32_t helpers_ = 0;                // threads that walk along
  bool is_waiting_ = false;             // the thread that called run(), for helpers
  std::atomic<uint32_t> changes_{0};    // grows when that thread may have something to do
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Scratch>> free_scratch_;  // of helpers
  Failure failure_;
  Scratch scratch_;
  LaunchSharing sharing_;
  StreamSharing stream_sharing_;
  bool is_shared_ = false;  // other threads may walk along in this run
};

}  // namespace sluice
