#include "runtime/device/device.h"

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <map>

#include "common/base/memory.h"
#include "runtime/device/flush_denormals.h"

namespace sluice {
namespace {

// True once the calling thread has looked for something for 20 µs. Reading the clock costs about as much as a pause; it is read rarely.
class SpinLimit {
 public:
  bool reached() {
    _mm_pause();
    if (++pauses_ % 16 != 0) return false;
    const auto now = std::chrono::steady_clock::now();
    if (pauses_ == 16) start_ = now;
    return now - start_ > std::chrono::microseconds(20);
  }
  void reset() { pauses_ = 0; }

 private:
  uint32_t pauses_ = 0;
  std::chrono::steady_clock::time_point start_;
};

void run_block(const Launch& launch, const KernelArgs& args, uint32_t block) {
  if (launch.kernel != nullptr) {
    launch.kernel(&args, block, launch.blocks);
    return;
  }
  auto done = within_memory([&] { return launch.call(launch.call_state, launch.operands); });
  if (!done) launch.failure->note(launch.task, std::move(done).error());
}

// The launch's scratch. False when there is no memory for it: the launch has failed, and its blocks are taken but not run.
bool get_scratch(const Launch& launch, Scratch& scratch, KernelArgs& args) {
  args.scratch = scratch.get(launch.scratch_bytes);
  if (args.scratch != nullptr || launch.scratch_bytes == 0) return true;
  launch.failure->note(launch.task, make_error(ErrorCode::kLimit, "memory ran out"));
  return false;
}

}  // namespace

void run_inline(const Launch& launch, Scratch& scratch) {
  KernelArgs args{launch.operands, launch.symbols, nullptr};
  if (!get_scratch(launch, scratch, args)) return;
  const FlushDenormals flush(launch.flush_denormals && launch.kernel != nullptr);
  for (uint32_t block = 0; block < launch.blocks; ++block) run_block(launch, args, block);
}

Result<std::shared_ptr<Device>> Device::make(int threads) {
  std::shared_ptr<Device> device(new Device(std::max(threads, 1)));
  for (int index = 0; index + 1 < device->threads_; ++index) {
    SLUICE_TRY(device->workers_.start([device = device.get(), index] { device->work(index); }));
  }
  return device;
}

Device::~Device() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_came_.notify_all();
}

int Device::begin(const Launch& launch) {
  uint64_t taken = taken_.load(std::memory_order_relaxed);
  int slot = 0;
  do {
    if (taken == ~uint64_t{0}) return -1;
    slot = std::countr_one(taken);
  } while (!taken_.compare_exchange_weak(taken, taken | uint64_t{1} << slot, std::memory_order_acquire, std::memory_order_relaxed));
  slots_[slot].launch = launch;
  slots_[slot].next.store(0, std::memory_order_relaxed);
  open_.fetch_or(uint64_t{1} << slot);
  if (sleepers_.load() > 0) wake_workers(launch.blocks);
  return slot;
}

void Device::help(int slot, Scratch& scratch) { run_blocks(slot, scratch, kWalker); }

bool Device::finished(int slot) const {
  const Slot& s = slots_[slot];
  return s.next.load() >= s.launch.blocks && s.users.load() == 0;
}

void Device::wait_any(std::span<const int> slots) {
  auto any = [&] { return std::any_of(slots.begin(), slots.end(), [this](int slot) { return finished(slot); }); };
  SpinLimit spin;
  while (!spin.reached()) {
    if (any()) return;
  }
  std::unique_lock lock(mutex_);
  joiners_.fetch_add(1);
  launch_ended_.wait(lock, any);
  joiners_.fetch_sub(1);
}

void Device::end(int slot) { taken_.fetch_and(~(uint64_t{1} << slot), std::memory_order_release); }

void Device::run_blocks(int slot, Scratch& scratch, int index) {
  Slot& s = slots_[slot];
  const Launch& launch = s.launch;
  KernelArgs args{launch.operands, launch.symbols, nullptr};
  const bool ready = get_scratch(launch, scratch, args);
  const FlushDenormals flush(launch.flush_denormals && launch.kernel != nullptr);
  while (may_work(index)) {
    const uint32_t block = s.next.fetch_add(1);
    if (block >= launch.blocks) return;
    if (block + 1 == launch.blocks) open_.fetch_and(~(uint64_t{1} << slot));
    if (ready) run_block(launch, args, block);
  }
}

void Device::work(int index) {
  Scratch scratch;
  SpinLimit spin;
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (work_once(index, scratch)) {
      spin.reset();
    } else if (spin.reached()) {
      sleep(index);
      spin.reset();
    }
  }
}

bool Device::work_once(int index, Scratch& scratch) {
  const uint64_t open = open_.load(std::memory_order_relaxed);
  if (open == 0 || !may_work(index)) return false;
  // Threads begin at different slots, so that launches in flight together get a thread each before one gets two.
  const int slot = (std::countr_zero(std::rotr(open, index)) + index) % kSlots;
  Slot& s = slots_[slot];
  s.users.fetch_add(1);
  if ((open_.load() >> slot & 1) != 0) run_blocks(slot, scratch, index);
  s.users.fetch_sub(1);
  if (joiners_.load() > 0) {
    {
      const std::lock_guard lock(mutex_);
    }
    launch_ended_.notify_all();
  }
  return true;
}

void Device::sleep(int index) {
  std::unique_lock lock(mutex_);
  sleepers_.fetch_add(1);
  work_came_.wait(lock, [this, index] { return stopping_ || has_work(index); });
  sleepers_.fetch_sub(1);
}

void Device::wake_workers(uint32_t blocks) {
  {
    const std::lock_guard lock(mutex_);
  }
  for (uint32_t n = std::min<uint32_t>(blocks, static_cast<uint32_t>(threads_ - 1)); n > 0; --n) work_came_.notify_one();
}

void Device::sit() {
  std::unique_lock lock(mutex_);
  seat_came_free_.wait(lock, [this] { return walkers_.load() < threads_; });
  walkers_.fetch_add(1);
}

void Device::rise() {
  {
    const std::lock_guard lock(mutex_);
    walkers_.fetch_sub(1);
  }
  seat_came_free_.notify_one();
  if (open_.load() != 0) work_came_.notify_all();
}

Result<std::shared_ptr<Device>> shared_device(int threads) {
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<Device>> devices;
  const std::lock_guard lock(mutex);
  std::weak_ptr<Device>& known = devices[std::max(threads, 1)];
  std::shared_ptr<Device> device = known.lock();
  if (device == nullptr) {
    SLUICE_ASSIGN(device, Device::make(threads));
    known = device;
  }
  return device;
}

}  // namespace sluice
