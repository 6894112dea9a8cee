#include "runtime/device/task_queue.h"

#include <algorithm>
#include <chrono>

#include "common/base/memory.h"

namespace sluice {
namespace {

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void note_begin(const WalkObserver& observer, uint32_t task) {
  if (observer.times != nullptr) (*observer.times)[task].begin_ns = now_ns();
}

}  // namespace

Walk::Walk(const TaskQueue& queue) : queue_(queue), sharing_(queue.tasks.size()) {
  for (auto* streams : {&ready_, &streams_in_flight_})
    streams->reserve(queue.streams.size());  // nothing is allocated during a walk
  slots_in_flight_.reserve(queue.streams.size());
}

void Walk::reset() {
  head_.assign(queue_.streams.size(), 0);
  events_.assign(queue_.events, 0);
  streams_in_flight_.clear();
  slots_in_flight_.clear();
}

bool Walk::advance(uint32_t stream) {
  const std::vector<uint32_t>& order = queue_.streams[stream];
  for (uint32_t& head = head_[stream]; head < order.size(); ++head) {
    const StreamTask& task = queue_.tasks[order[head]];
    if (task.action == TaskAction::kLaunch) return true;
    if (task.action == TaskAction::kRecord) ++events_[task.event];
    if (task.action == TaskAction::kWait && events_[task.event] == 0) return false;
  }
  return false;
}

Launch Walk::launch_at(uint32_t stream) {
  const uint32_t number = head_task(stream);
  const StreamTask& task = queue_.tasks[number];
  return Launch{.kernel = task.kernel,
                .call = task.call,
                .call_state = task.call_state,
                .operands = operands_ + task.operand_begin,
                .symbols = task.symbols,
                .blocks = task.blocks,
                .scratch_bytes = task.scratch_bytes,
                .flush_denormals = task.flush_denormals,
                .task = number,
                .failure = &failure_};
}

void Walk::retire(uint32_t stream, const WalkObserver& observer) {
  const uint32_t task = head_task(stream);
  if (observer.times != nullptr) (*observer.times)[task].end_ns = now_ns();
  if (observer.after_task && !failure_.happened()) {
    auto seen = within_memory([&] { return observer.after_task(task); });
    if (!seen) failure_.note(task, std::move(seen).error());
  }
  ++head_[stream];
}

void Walk::run_here(uint32_t stream, const WalkObserver& observer) {
  note_begin(observer, head_task(stream));
  run_inline(launch_at(stream), scratch_);
  retire(stream, observer);
}

void Walk::begin_ready(Device& device, const WalkObserver& observer) {
  for (const uint32_t stream : ready_) {
    if (!may_begin()) return;
    note_begin(observer, head_task(stream));
    const int slot = device.begin(launch_at(stream));
    if (slot < 0) {
      run_here(stream, observer);
      continue;
    }
    streams_in_flight_.push_back(stream);
    slots_in_flight_.push_back(slot);
  }
}

void Walk::retire_finished(Device& device, const WalkObserver& observer) {
  for (size_t i = 0; i < slots_in_flight_.size();) {
    if (!device.finished(slots_in_flight_[i])) {
      ++i;
      continue;
    }
    device.end(slots_in_flight_[i]);
    const uint32_t stream = streams_in_flight_[i];
    slots_in_flight_.erase(slots_in_flight_.begin() + static_cast<std::ptrdiff_t>(i));
    streams_in_flight_.erase(streams_in_flight_.begin() + static_cast<std::ptrdiff_t>(i));
    retire(stream, observer);
  }
}

void Walk::collect_ready() {
  // A record in one stream may release a wait in a stream visited before: visit again until no
  // event changed.
  for (bool moved = true; moved;) {
    moved = false;
    ready_.clear();
    for (uint32_t stream = 0; stream < queue_.streams.size(); ++stream) {
      if (std::find(streams_in_flight_.begin(), streams_in_flight_.end(), stream) !=
          streams_in_flight_.end())
        continue;
      const uint32_t before = head_[stream];
      if (advance(stream)) ready_.push_back(stream);
      moved = moved || head_[stream] != before;
    }
  }
  if (!may_begin()) ready_.clear();
}

void Walk::run_ready_here(const WalkObserver& observer) {
  for (const uint32_t stream : ready_) {
    if (may_begin()) run_here(stream, observer);
  }
}

// Runs a launch of several blocks, alone or shared, and notes how long it took.
void Walk::run_measured(Device& device, const Launch& launch) {
  if (sharing_.is_known_tiny(launch.task)) return run_inline(launch, scratch_);
  const int64_t begin = now_ns();
  const auto since_begin = [begin] { return static_cast<double>(now_ns() - begin); };
  const int slot = sharing_.is_worth(launch.task) ? device.begin(launch) : -1;
  if (slot < 0) {
    run_inline(launch, scratch_);
    return sharing_.note_alone(launch.task, since_begin());
  }
  const uint32_t own = device.help(slot, scratch_);
  const double own_ns = since_begin();
  device.wait_any({&slot, 1});
  device.end(slot);
  sharing_.note_shared(launch.task, own == launch.blocks ? own_ns : since_begin(),
                       own == 0 ? 0 : own_ns * launch.blocks / own);
}

// Runs the launch at a stream's head while nothing else could be run.
void Walk::run_only(Device& device, uint32_t stream, const WalkObserver& observer) {
  const Launch launch = launch_at(stream);
  if (launch.blocks == 1) return run_here(stream, observer);
  note_begin(observer, launch.task);
  run_measured(device, launch);
  retire(stream, observer);
}

// Runs blocks of launches in flight until one launch has finished.
void Walk::help_one(Device& device) {
  for (const int slot : slots_in_flight_) {
    device.help(slot, scratch_);
    if (device.finished(slot)) return;
  }
  if (!slots_in_flight_.empty()) device.wait_any(slots_in_flight_);
}

Result<void> Walk::run(Device& device, void* const* operands, const WalkObserver& observer) {
  SLUICE_TRY(device.start_threads());
  reset();
  operands_ = operands;
  const Device::WalkerSlot walker(device);
  while (true) {
    collect_ready();
    if (ready_.empty() && slots_in_flight_.empty()) break;
    if (device.threads() == 1) {
      run_ready_here(observer);
      continue;
    }
    if (ready_.size() == 1 && slots_in_flight_.empty()) {
      run_only(device, ready_[0], observer);
      continue;
    }
    begin_ready(device, observer);
    help_one(device);
    retire_finished(device, observer);
  }
  return failure_.take();
}

}  // namespace sluice
