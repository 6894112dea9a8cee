// Streams of tasks, and the walk that runs them. Tasks of a stream run in order; streams
// run at the same time and are ordered by events only. An event is a counter of the run, which a
// record increments; a wait lets its stream go on when the counter has reached its number.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/base/result.h"
#include "runtime/device/device.h"
#include "runtime/device/launch_sharing.h"

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

struct TaskTime {
  int64_t begin_ns = 0;  // steady clock
  int64_t end_ns = 0;
};

// Observers that a caller may attach to a walk; all are slow and optional. after_task runs on the
// walking thread after each completed task. With choose the walking thread runs the tasks alone,
// and before each is asked which of so many streams with a launch at their head goes on, from 0.
struct WalkObserver {
  std::vector<TaskTime>* times = nullptr;  // one per task
  std::function<Result<void>(uint32_t task)> after_task;
  std::function<size_t(size_t streams)> choose;
};

// The state of one run's walks; used by one thread at a time, kept between walks. Of the streams
// with a launch at their head, the one whose task has the smallest number goes first. A stream that
// waits is looked at again when its event is recorded, so a walk takes O(tasks log streams).
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
  void reset();
  bool advance(uint32_t stream);  // over events; true when a launch has come to the head
  void record(uint32_t event);
  uint32_t take_ready();
  uint32_t take_chosen(size_t index);
  Launch launch_at(uint32_t stream);
  void collect_ready();
  void retire(uint32_t stream, const WalkObserver& observer);
  void begin_ready(Device& device, const WalkObserver& observer);
  void run_only(Device& device, uint32_t stream, const WalkObserver& observer);
  void run_measured(Device& device, const Launch& launch);
  void help_one(Device& device);
  void run_here(uint32_t stream, const WalkObserver& observer);
  void retire_finished(Device& device, const WalkObserver& observer);
  bool may_begin() const { return !failure_.happened(); }
  uint32_t head_task(uint32_t stream) const { return queue_.streams[stream][head_[stream]]; }

  const TaskQueue& queue_;
  void* const* operands_ = nullptr;
  static constexpr uint32_t kNoStream = UINT32_MAX;
  std::vector<uint32_t> head_;          // per stream: position of the first task not completed
  std::vector<uint32_t> events_;        // by event: number of records in this run
  std::vector<uint32_t> waiting_;       // by event: a stream that waits for it
  std::vector<uint32_t> also_waiting_;  // per stream: another one that waits for the same event
  std::vector<uint32_t> to_look_at_;    // streams that may be able to go on
  std::vector<uint32_t> ready_;         // a heap of streams with a launch at their head
  std::vector<uint32_t> streams_in_flight_;
  std::vector<int> slots_in_flight_;  // parallel
  Failure failure_;
  Scratch scratch_;
  LaunchSharing sharing_;
};

}  // namespace sluice
