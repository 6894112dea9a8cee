#include "runtime/device/task_queue.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "common/base/memory.h"
#include "runtime/device/spin_limit.h"

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
  for (auto* streams : {&ready_, &to_look_at_})
    streams->reserve(queue.streams.size());  // nothing is allocated during a walk
  offers_.reserve(Device::kSlots);
}

void Walk::reset(Device& device, void* const* operands, const WalkObserver& observer) {
  device_ = &device;
  operands_ = operands;
  observer_ = &observer;
  head_.assign(queue_.streams.size(), 0);
  events_.assign(queue_.events, 0);
  waiting_.assign(queue_.events, kNoStream);
  also_waiting_.assign(queue_.streams.size(), kNoStream);
  mutex_.be_needed(queue_.streams.size() > 1);
  while (queue_.streams.size() > 1 && std::ssize(free_scratch_) < device.threads())
    free_scratch_.push_back(std::make_unique<Scratch>());
  to_look_at_.resize(queue_.streams.size());
  std::iota(to_look_at_.begin(), to_look_at_.end(), 0u);
  ready_.clear();
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

void Walk::retire(uint32_t stream) {
  const uint32_t task = head_task(stream);
  if (observer_->times != nullptr) (*observer_->times)[task].end_ns = now_ns();
  if (observer_->after_task && !failure_.happened()) {
    auto seen = within_memory([&] { return observer_->after_task(task); });
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

// Runs a launch, whose blocks other threads may take where that pays, and notes how long it took.
// The lock is free meanwhile.
void Walk::run_launch(const Launch& launch, Scratch& scratch, WalkLock& lock) {
  const bool is_measured = launch.blocks > 1 && !sharing_.is_known_tiny(launch.task);
  const bool is_shared = is_measured && sharing_.is_worth(launch.task);
  lock.unlock();
  const int64_t begin = is_measured ? now_ns() : 0;
  const auto since_begin = [begin] { return static_cast<double>(now_ns() - begin); };
  const int slot = is_shared ? device_->begin(launch) : -1;
  if (slot < 0) {
    run_inline(launch, scratch);
    const double ns = is_measured ? since_begin() : 0;
    lock.lock();
    if (is_measured) sharing_.note_alone(launch.task, ns);
    return;
  }
  const uint32_t own = device_->help(slot, scratch);
  const double own_ns = since_begin();
  device_->wait_any({&slot, 1});
  device_->end(slot);
  const double ns = own == launch.blocks ? own_ns : since_begin();
  lock.lock();
  sharing_.note_shared(launch.task, ns, own == 0 ? 0 : own_ns * launch.blocks / own);
}

// Runs the launch at a stream's head.
void Walk::run_head(uint32_t stream, Scratch& scratch, WalkLock& lock) {
  const Launch launch = launch_at(stream);
  note_begin(*observer_, launch.task);
  run_launch(launch, scratch, lock);
  retire(stream);
}

// Runs all tasks on this thread.
void Walk::run_alone() {
  for (collect_ready(); !ready_.empty(); collect_ready()) {
    const uint32_t stream =
        observer_->choose ? take_chosen(observer_->choose(ready_.size())) : take_ready();
    const Launch launch = launch_at(stream);
    note_begin(*observer_, launch.task);
    run_inline(launch, scratch_);
    retire(stream);
  }
}

void Walk::run_streams() {
  const bool is_measured = queue_.streams.size() > 1;
  is_shared_ = is_measured && stream_sharing_.decide();
  const int64_t begin = is_measured ? now_ns() : 0;
  WalkLock lock(mutex_);
  while (true) {
    collect_ready();
    if (!ready_.empty()) {
      const uint32_t stream = take_ready();
      if (!ready_.empty() && is_shared_) offer_streams();
      run_head(stream, scratch_, lock);
    } else if (helpers_ > 0) {
      await_helper(lock);
    } else {
      break;
    }
  }
  lock.unlock();
  end_offers();
  if (is_measured) stream_sharing_.note(is_shared_, static_cast<double>(now_ns() - begin));
}

// Asks for a thread for each stream that can go on: the one that called run() if it waits, or one
// of the device's.
void Walk::offer_streams() {
  changes_.fetch_add(1);
  if (is_waiting_) changed_.notify_one();
  std::erase_if(offers_, [this](int slot) {
    if (!device_->finished(slot)) return false;
    device_->end(slot);
    return true;
  });
  const auto limit = static_cast<size_t>(device_->threads() - 1);
  while (open_offers_ + (is_waiting_ ? 1 : 0) < ready_.size() && offers_.size() < limit) {
    const int slot = device_->begin({.call = join, .call_state = this, .failure = &failure_});
    if (slot < 0) return;
    offers_.push_back(slot);
    ++open_offers_;
  }
}

Result<void> Walk::join(const void* walk, void* const* /*operands*/, uint32_t /*block*/) {
  static_cast<Walk*>(const_cast<void*>(walk))->walk_along();
  return {};
}

// Runs tasks of streams that can go on until none can, or another run wants the thread.
void Walk::walk_along() {
  WalkLock lock(mutex_);
  --open_offers_;
  std::unique_ptr<Scratch> scratch = std::move(free_scratch_.back());
  free_scratch_.pop_back();
  ++helpers_;
  for (collect_ready(); !ready_.empty() && !device_->is_crowded(); collect_ready()) {
    const uint32_t stream = take_ready();
    if (!ready_.empty()) offer_streams();
    run_head(stream, *scratch, lock);
  }
  free_scratch_.push_back(std::move(scratch));
  --helpers_;
  changes_.fetch_add(1);
  if (is_waiting_) changed_.notify_one();
}

// Waits until a stream can go on or a helper has gone.
void Walk::await_helper(WalkLock& lock) {
  const uint32_t seen = changes_.load();
  is_waiting_ = true;
  lock.unlock();
  SpinLimit spin;
  while (changes_.load() == seen && !spin.reached()) {
  }
  lock.lock();
  std::unique_lock needed(mutex_.needed(), std::adopt_lock);
  changed_.wait(needed, [&] { return changes_.load() != seen; });
  needed.release();
  is_waiting_ = false;
}

// Offers that no thread has taken are taken back: this thread finds nothing to do.
void Walk::end_offers() {
  for (const int slot : offers_) {
    device_->help(slot, scratch_);
    device_->wait_any({&slot, 1});
    device_->end(slot);
  }
  offers_.clear();
}

Result<void> Walk::run(Device& device, void* const* operands, const WalkObserver& observer) {
  SLUICE_TRY(device.start_threads());
  reset(device, operands, observer);
  const Device::WalkerSlot walker(device);
  observer.choose || device.threads() == 1 ? run_alone() : run_streams();
  return failure_.take();
}

}  // namespace sluice
