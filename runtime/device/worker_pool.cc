#include "runtime/device/worker_pool.h"

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <chrono>

#include "common/base/memory.h"
#include "runtime/device/flush_denormals.h"

namespace sluice {
namespace {

// Becomes true once the calling thread has looked for work for 20 µs. Reading the clock costs about
// as much as a pause, so it is read rarely.
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

// The blocks of a launch that one thread runs.
class ThreadBlocks {
 public:
  ThreadBlocks(const Launch& launch, Scratch& scratch)
      : launch_(launch),
        args_{launch.operands, launch.symbols, scratch.get(launch.scratch_bytes), &fault_},
        flush_(launch.flush_denormals && launch.kernel != nullptr) {
    if (has_scratch()) return;
    launch.failure->note(launch.task,
                         memory_error(launch.scratch_bytes, "the scratch of a thread"));
  }

  // Does nothing without memory for the scratch: the launch has then failed.
  void run(uint32_t block) {
    if (!has_scratch()) return;
    if (launch_.kernel != nullptr) {
      launch_.kernel(&args_, block, launch_.blocks);
      return;
    }
    auto done = within_memory([&] { return launch_.call(launch_.call_state, launch_.operands); });
    if (!done) launch_.failure->note(launch_.task, std::move(done).error());
  }

  // Notes what the kernel found wrong in any of the blocks. To be called after the last one.
  void end() const {
    if (fault_ == 0) return;
    launch_.failure->note(launch_.task,
                          make_error(ErrorCode::kBadValue, "an index is out of range"));
  }

 private:
  bool has_scratch() const { return args_.scratch != nullptr || launch_.scratch_bytes == 0; }

  const Launch& launch_;
  uint32_t fault_ = 0;
  const KernelArgs args_;
  const FlushDenormals flush_;
};

}  // namespace

void run_inline(const Launch& launch, Scratch& scratch) {
  ThreadBlocks mine(launch, scratch);
  for (uint32_t block = 0; block < launch.blocks; ++block) mine.run(block);
  mine.end();
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_came_.notify_all();
}

void WorkerPool::set_width(int threads) {
  {
    const std::lock_guard lock(mutex_);
    width_ = threads;
  }
  slot_released_.notify_all();
}

Result<void> WorkerPool::start_threads(int threads) {
  if (has_threads(threads)) return {};
  const std::lock_guard lock(mutex_);
  return within_memory([&]() -> Result<void> {
    if (slots_ == nullptr) slots_ = std::make_unique<Slot[]>(kSlots);
    while (started_ + 1 < threads) {
      const int index = started_;
      if (workers_.size() == static_cast<size_t>(index))
        workers_.push_back(std::make_unique<Worker>());
      SLUICE_TRY(threads_.start([this, index, me = workers_.back().get()] { work(index, *me); }));
      ++started_;
    }
    return {};
  });
}

int WorkerPool::begin(const Launch& launch, int limit) {
  if (limit == 1) return -1;
  uint64_t taken = taken_.load(std::memory_order_relaxed);
  int slot = 0;
  do {
    if (taken == ~uint64_t{0}) return -1;
    slot = std::countr_one(taken);
  } while (!taken_.compare_exchange_weak(taken, taken | uint64_t{1} << slot,
                                         std::memory_order_acquire, std::memory_order_relaxed));
  slots_[slot].launch = launch;
  slots_[slot].limit.store(limit, std::memory_order_relaxed);
  slots_[slot].next.store(0, std::memory_order_relaxed);
  open_.fetch_or(uint64_t{1} << slot);
  if (sleepers_.load() > 0) wake_workers(launch, limit);
  return slot;
}

void WorkerPool::help(int slot, Scratch& scratch) { run_blocks(slot, scratch, kWalker); }

bool WorkerPool::finished(int slot) const {
  const Slot& s = slots_[slot];
  return s.next.load() >= s.launch.blocks && s.users.load() == 0;
}

void WorkerPool::wait_any(std::span<const int> slots) {
  auto any = [&] {
    return std::any_of(slots.begin(), slots.end(), [this](int slot) { return finished(slot); });
  };
  SpinLimit spin;
  while (!spin.reached()) {
    if (any()) return;
  }
  std::unique_lock lock(mutex_);
  joiners_.fetch_add(1);
  launch_ended_.wait(lock, any);
  joiners_.fetch_sub(1);
}

void WorkerPool::end(int slot) {
  taken_.fetch_and(~(uint64_t{1} << slot), std::memory_order_release);
}

void WorkerPool::run_blocks(int slot, Scratch& scratch, int index) {
  Slot& s = slots_[slot];
  ThreadBlocks mine(s.launch, scratch);
  while (may_work(index)) {
    const uint32_t block = s.next.fetch_add(1);
    if (block >= s.launch.blocks) break;
    if (block + 1 == s.launch.blocks) open_.fetch_and(~(uint64_t{1} << slot));
    mine.run(block);
  }
  mine.end();
}

void WorkerPool::work(int index, Worker& me) {
  Scratch scratch;
  SpinLimit spin;
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (work_once(index, me, scratch)) {
      spin.reset();
    } else if (spin.reached()) {
      sleep(index);
      spin.reset();
    }
  }
}

uint64_t WorkerPool::open_to(int index) const {
  const uint64_t open = open_.load();
  uint64_t joinable = open;
  for (uint64_t remainder = open; remainder != 0; remainder &= remainder - 1) {
    const int slot = std::countr_zero(remainder);
    if (!may_join(slot, index)) joinable &= ~(uint64_t{1} << slot);
  }
  return joinable;
}

// The thread marks itself busy before it checks whether it may be, and a walker acquires its slot
// before it checks who is busy: so one of them sees the other.
bool WorkerPool::work_once(int index, Worker& me, Scratch& scratch) {
  const uint64_t open = open_to(index);
  if (open == 0 || !may_work(index)) return false;
  me.is_busy.store(true);
  // Threads begin at different slots, so that launches in flight together get one thread each
  // before one of them gets two.
  const int slot = (std::countr_zero(std::rotr(open, index)) + index) % kSlots;
  Slot& s = slots_[slot];
  s.users.fetch_add(1);
  if ((open_.load() >> slot & 1) != 0 && may_join(slot, index)) run_blocks(slot, scratch, index);
  leave_slot(slot);
  me.is_busy.store(false);
  if (!may_work(index)) {
    {
      const std::lock_guard lock(mutex_);
    }
    slot_released_.notify_all();
  }
  return true;
}

void WorkerPool::leave_slot(int slot) {
  slots_[slot].users.fetch_sub(1);
  if (joiners_.load() == 0) return;
  {
    const std::lock_guard lock(mutex_);
  }
  launch_ended_.notify_all();
}

void WorkerPool::sleep(int index) {
  std::unique_lock lock(mutex_);
  sleepers_.fetch_add(1);
  work_came_.wait(lock,
                  [this, index] { return stopping_ || (may_work(index) && open_to(index) != 0); });
  sleepers_.fetch_sub(1);
}

void WorkerPool::wake_workers(const Launch& launch, int limit) {
  {
    const std::lock_guard lock(mutex_);
  }
  if (limit < width_.load() || walkers_.load() > 1)
    return work_came_.notify_all();  // not every thread may take it
  for (uint32_t n = std::min(launch.blocks, static_cast<uint32_t>(limit - 1)); n > 0; --n)
    work_came_.notify_one();
}

// The caller has locked mutex_.
bool WorkerPool::is_anyone_barred_busy() const {
  for (size_t index = workers_.size(); index-- > 0 && !may_work(static_cast<int>(index));) {
    if (workers_[index]->is_busy.load()) return true;
  }
  return false;
}

void WorkerPool::acquire_slot() {
  std::unique_lock lock(mutex_);
  ++standing_;
  slot_released_.wait(lock, [this] { return walkers_.load() < width_.load(); });
  walkers_.fetch_add(1);
  slot_released_.wait(lock, [this] { return !is_anyone_barred_busy(); });
  --standing_;
}

void WorkerPool::release_slot() {
  bool waits = false;
  {
    const std::lock_guard lock(mutex_);
    walkers_.fetch_sub(1);
    waits = standing_ > 0;
  }
  if (waits) slot_released_.notify_all();  // some waiters wait for a thread of the pool
  if (open_.load() != 0) work_came_.notify_all();
}

}  // namespace sluice
