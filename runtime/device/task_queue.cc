#include "runtime/device/task_queue.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

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
  for (auto* streams : {&ready_, &streams_in_flight_, &to_look_at_})
    streams->reserve(queue.streams.size());  // nothing is allocated during a walk
  slots_in_flight_.reserve(queue.streams.size());
}

void Walk::reset() {
  head_.assign(queue_.streams.size(), 0);
  events_.assign(queue_.events, 0);
  waiting_.assign(queue_.events, kNoStream);
  also_waiting_.assign(queue_.streams.size(), kNoStream);
  to_look_at_.resize(queue_.streams.size());
  std::iota(to_look_at_.begin(), to_look_at_.end(), 0u);
  ready_.clear();
  streams_in_flight_.clear();
  slots_in_flight_.clear();
}

bool Walk::advance(uint32_t stream) {
  const std::vector<uint32_t>& order = queue_.streams[stream];
  for (uint32_t& head = head_[stream]; head < order.size(); ++head) {
    const StreamTask& task = queue_.tasks[order[head]];
    if (task.action == TaskAction::kLaunch) return true;
    if (task.action == TaskAction::kRecord) record(task.event);
    if (task.action == TaskAction::kWait && events_[task.event] < task.record) {
      also_waiting_[stream] = std::exchange(waiting_[task.event], stream);
      return false;
    }
  }
  return false;
}

void Walk::record(uint32_t event) {
  ++events_[event];
  for (uint32_t stream = std::exchange(waiting_[event], kNoStream); stream != kNoStream;
       stream = also_waiting_[stream])
    to_look_at_.push_back(stream);
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
  to_look_at_.push_back(stream);
}

// Takes one of the streams, in no order; those that are left are no heap any more.
uint32_t Walk::take_chosen(size_t index) {
  std::swap(ready_[index], ready_.back());
  const uint32_t stream = ready_.back();
  ready_.pop_back();
  return stream;
}

void Walk::run_here(uint32_t stream, const WalkObserver& observer) {
  note_begin(observer, head_task(stream));
  run_inline(launch_at(stream), scratch_);
  retire(stream, observer);
}

void Walk::begin_ready(Device& device, const WalkObserver& observer) {
  while (may_begin() && !ready_.empty()) {
    const uint32_t stream = take_ready();
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
  while (!to_look_at_.empty()) {
    const uint32_t stream = to_look_at_.back();
    to_look_at_.pop_back();
    if (!advance(stream)) continue;
    ready_.push_back(stream);
    std::ranges::push_heap(ready_, std::ranges::greater(),
                           [this](uint32_t each) { return head_task(each); });
  }
  if (!may_begin()) ready_.clear();
}

// Takes the stream whose launch has the smallest number.
uint32_t Walk::take_ready() {
  std::ranges::pop_heap(ready_, std::ranges::greater(),
                        [this](uint32_t each) { return head_task(each); });
  const uint32_t stream = ready_.back();
  ready_.pop_back();
  return stream;
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
    if (observer.choose) {
      run_here(take_chosen(observer.choose(ready_.size())), observer);
      continue;
    }
    if (device.threads() == 1) {
      run_here(take_ready(), observer);
      continue;
    }
    if (ready_.size() == 1 && slots_in_flight_.empty()) {
      run_only(device, take_ready(), observer);
      continue;
    }
    begin_ready(device, observer);
    help_one(device);
    retire_finished(device, observer);
  }
  return failure_.take();
}

}  // namespace sluice
