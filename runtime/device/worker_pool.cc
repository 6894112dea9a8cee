#include "runtime/device/worker_pool.h"

#include <algorithm>
#include <bit>

#include "common/base/memory.h"
#include "runtime/device/flush_denormals.h"
#include "runtime/device/spin_limit.h"

namespace sluice {
namespace {

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
    auto done =
        within_memory([&] { return launch_.call(launch_.call_state, launch_.operands, block); });
    if (!done) launch_.failure->note(launch_.task, std::move(done).error());
  }

  // Notes what the kernel found wrong in any of the blocks. To be called after the last one.
  void end() const {
    if (fault_ == 0) return;
    launch_.failure->note(launch_.task,
                          make_error(ErrorCode::kBadValue,
                                     "an index is out of range, or an integer is divided by 0"));
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
  stopping_ = true;
  for (int index = 0; has_threads(index + 2); ++index) wake(index);
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
  Slot& s = slots_[slot];
  s.launch = launch;
  s.walkers_blocks = 0;
  s.done.store(0, std::memory_order_relaxed);
  s.offer.store(Offer{launch.blocks, limit}.word(), std::memory_order_release);
  open_.fetch_or(uint64_t{1} << slot);
  if (sleepers_.load() > 0) wake_workers(launch.blocks, limit);
  return slot;
}

uint32_t WorkerPool::help(int slot, Scratch& scratch) {
  const uint32_t ran = run_blocks(slot, scratch, kWalker);
  slots_[slot].walkers_blocks += ran;
  return ran;
}

bool WorkerPool::finished(int slot) const {
  const Slot& s = slots_[slot];
  return s.done.load() + s.walkers_blocks == s.launch.blocks;
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

// Takes blocks of the slot's launch: few enough that other threads are not left without work while
// these run, and many while many are left, because taking costs more than a small block.
std::optional<WorkerPool::Blocks> WorkerPool::take(int slot, int index) {
  Slot& s = slots_[slot];
  uint64_t word = s.offer.load(std::memory_order_relaxed);
  while (true) {
    const Offer offer = Offer::of(word);
    if (!offer.is_for(index)) return std::nullopt;
    const uint32_t count = std::max(offer.blocks / (4 * static_cast<uint32_t>(offer.limit)), 1u);
    if (!s.offer.compare_exchange_weak(word, word - count, std::memory_order_acquire,
                                       std::memory_order_relaxed))
      continue;
    if (count == offer.blocks) open_.fetch_and(~(uint64_t{1} << slot));
    const uint32_t begin = s.launch.blocks - offer.blocks;
    return Blocks{begin, begin + count};
  }
}

// Returns the number of blocks that were run.
uint32_t WorkerPool::run_blocks(int slot, Scratch& scratch, int index) {
  std::optional<Blocks> taken = take(slot, index);
  if (!taken) return 0;
  uint32_t ran = 0;
  ThreadBlocks mine(slots_[slot].launch, scratch);
  while (taken) {
    for (uint32_t block = taken->begin; block < taken->end; ++block) mine.run(block);
    ran += taken->end - taken->begin;
    taken = may_work(index) ? take(slot, index) : std::nullopt;
  }
  mine.end();
  return ran;
}

void WorkerPool::work(int index, Worker& me) {
  Scratch scratch;
  SpinLimit spin;
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (work_once(index, me, scratch)) {
      spin.reset();
    } else if (spin.reached()) {
      sleep(index, me);
      spin.reset();
    }
  }
}

uint64_t WorkerPool::open_to(int index) const {
  const uint64_t open = open_.load();
  uint64_t joinable = open;
  for (uint64_t remainder = open; remainder != 0; remainder &= remainder - 1) {
    const int slot = std::countr_zero(remainder);
    if (!Offer::of(slots_[slot].offer.load(std::memory_order_relaxed)).is_for(index))
      joinable &= ~(uint64_t{1} << slot);
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
  const uint32_t ran = may_work(index) ? run_blocks(slot, scratch, index) : 0;
  if (ran > 0) finish_blocks(slot, ran);
  me.is_busy.store(false);
  if (!may_work(index)) {
    {
      const std::lock_guard lock(mutex_);
    }
    slot_released_.notify_all();
  }
  return ran > 0;
}

// Notifies the walker. From the first line on, the launch may be over and the slot another's.
void WorkerPool::finish_blocks(int slot, uint32_t blocks) {
  slots_[slot].done.fetch_add(blocks);
  if (joiners_.load() == 0) return;
  {
    const std::lock_guard lock(mutex_);
  }
  launch_ended_.notify_all();
}

// The thread counts itself among the sleepers before it looks for work a last time, and a walker
// offers work before it looks for sleepers: so one of them sees the other.
void WorkerPool::sleep(int index, Worker& me) {
  std::unique_lock lock(mutex_);
  sleepers_.fetch_add(1);
  if (stopping_ || (may_work(index) && open_to(index) != 0)) {
    sleepers_.fetch_sub(1);
    return;
  }
  me.is_asleep = true;
  me.woken.wait(lock, [&me] { return !me.is_asleep; });
}

// Wakes at most `count` of the threads that may join a launch of this limit.
void WorkerPool::wake_workers(uint32_t count, int limit) {
  for (int index = 0; count > 0 && index + 1 < limit && may_work(index); ++index) {
    if (wake(index)) --count;
  }
}

// Returns whether the thread was asleep. It counts as awake from now on, long before it runs, so
// that the next launch does not wake it again.
bool WorkerPool::wake(int index) {
  Worker* worker = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (static_cast<size_t>(index) >= workers_.size()) return false;
    worker = workers_[static_cast<size_t>(index)].get();
    if (!std::exchange(worker->is_asleep, false)) return false;
    sleepers_.fetch_sub(1);
  }
  worker->woken.notify_one();
  return true;
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
  if (open_.load() != 0) wake_workers(static_cast<uint32_t>(kSlots), width_.load());
}

}  // namespace sluice
