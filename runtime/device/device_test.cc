// Tests what every device must do: run each block of a launch once, on any threads, and make its
// writes visible to whoever waits for it.
#include "runtime/device/device.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <new>

#include "runtime/device/task_queue.h"

namespace sluice {
namespace {

class DeviceTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, DeviceTest, ::testing::Values(1, 2, 3, 8));

constexpr uint32_t kBlocks = 37;

void count_block(const KernelArgs* args, uint32_t block, uint32_t blocks) {
  ASSERT_EQ(blocks, kBlocks);
  ++static_cast<uint32_t*>(args->pointers[0])[block];
}

TEST_P(DeviceTest, RunsEveryBlockOnce) {
  const auto made = shared_device(GetParam());
  ASSERT_TRUE(made);
  Device& device = **made;
  Scratch scratch;
  std::vector<uint32_t> counts(kBlocks, 0);
  void* operands[] = {counts.data()};
  const Launch launch{.kernel = count_block, .operands = operands, .blocks = kBlocks};
  for (uint32_t round = 1; round <= 2000; ++round) {
    const Device::WalkerSlot walker(device);
    device.run(launch, scratch);
    ASSERT_EQ(counts, std::vector<uint32_t>(kBlocks, round));
  }
}

TEST_P(DeviceTest, WakesThreadsThatFellAsleep) {
  const auto made = shared_device(GetParam() + 1);
  ASSERT_TRUE(made);
  Device& device = **made;
  std::vector<uint32_t> counts(kBlocks, 0);
  void* operands[] = {counts.data()};
  const Launch launch{.kernel = count_block, .operands = operands, .blocks = kBlocks};
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const Device::WalkerSlot walker(device);
    const int slot = device.begin(launch);  // the device's own threads must do it alone
    while (!device.finished(slot)) device.wait_any({&slot, 1});
    device.end(slot);
  }
  EXPECT_EQ(counts, std::vector<uint32_t>(kBlocks, 20));
}

TEST_P(DeviceTest, KeepsManyLaunchesInFlight) {
  const auto made = shared_device(GetParam());
  ASSERT_TRUE(made);
  Device& device = **made;
  if (device.threads() == 1) {
    EXPECT_EQ(device.begin({.kernel = count_block, .blocks = kBlocks}), -1);
    return;
  }
  Scratch scratch;
  std::vector<std::vector<uint32_t>> counts(Device::kSlots, std::vector<uint32_t>(kBlocks, 0));
  std::vector<void*> operands;
  for (auto& c : counts) operands.push_back(c.data());
  const Device::WalkerSlot walker(device);
  std::vector<int> slots;
  for (int i = 0; i < Device::kSlots; ++i) {
    slots.push_back(device.begin(
        {.kernel = count_block, .operands = &operands[static_cast<size_t>(i)], .blocks = kBlocks}));
  }
  EXPECT_EQ(device.begin({.kernel = count_block, .operands = operands.data(), .blocks = kBlocks}),
            -1);
  for (const int slot : slots) {
    device.help(slot, scratch);
    device.wait_any({&slot, 1});
    device.end(slot);
  }
  for (const auto& c : counts) EXPECT_EQ(c, std::vector<uint32_t>(kBlocks, 1));
}

Result<void> exhaust(const void*, void* const*, uint32_t) { throw std::bad_alloc(); }

TEST_P(DeviceTest, ExhaustedMemoryOfACallIsTheRunsError) {
  const auto made = shared_device(GetParam());
  ASSERT_TRUE(made);
  TaskQueue queue;
  queue.tasks.assign(4, {.call = exhaust});
  for (uint32_t t = 0; t < 4; ++t) queue.streams.push_back({t});  // at the same time
  Walk walk(queue);
  for (int round = 0; round < 100; ++round) {
    void* operands[] = {nullptr};
    const auto done = walk.run(**made, operands, {});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kLimit);
  }
}

TEST_P(DeviceTest, ExhaustedMemoryForScratchIsTheRunsError) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory is beyond the limit";
#endif
  const auto in_little_memory = [this] {
    const auto made = shared_device(GetParam());
    TaskQueue queue;
    queue.tasks.assign(1, {.blocks = kBlocks, .scratch_bytes = 1u << 30, .kernel = count_block});
    queue.streams = {{0}};
    Walk walk(queue);
    const rlimit limit{size_t{256} << 20, size_t{256} << 20};
    ::setrlimit(RLIMIT_DATA, &limit);
    std::vector<uint32_t> counts(kBlocks, 0);
    void* operands[] = {counts.data()};
    const auto done = walk.run(**made, operands, {});
    std::_Exit(!done && done.error().code == ErrorCode::kLimit ? 0 : 1);
  };
  EXPECT_EXIT(in_little_memory(), ::testing::ExitedWithCode(0), "");
}

std::atomic<int> busy{0};
std::atomic<int> max_busy{0};

void raise_to(std::atomic<int>& maximum, int now) {
  int seen = maximum.load();
  while (now > seen && !maximum.compare_exchange_weak(seen, now)) {
  }
}

void note_busy(const KernelArgs*, uint32_t, uint32_t) {
  raise_to(max_busy, ++busy);
  std::this_thread::sleep_for(std::chrono::microseconds(200));
  --busy;
}

TaskQueue queue_of(uint32_t tasks, KernelFunction kernel) {
  TaskQueue queue;
  queue.tasks.assign(tasks, {.blocks = 4, .kernel = kernel});
  queue.streams.resize(1);
  for (uint32_t t = 0; t < tasks; ++t) queue.streams[0].push_back(t);
  return queue;
}

// Walkers beyond the last slot wait, and threads of the device become idle so that walkers with a
// slot can work.
TEST_P(DeviceTest, KeepsItsThreadsBusyAndNoMore) {
  busy = max_busy = 0;
  const auto made = shared_device(GetParam());
  ASSERT_TRUE(made);
  Device& device = **made;
  const TaskQueue queue = queue_of(20, note_busy);
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      Walk walk(queue);
      void* const no_operands = nullptr;
      EXPECT_TRUE(walk.run(device, &no_operands, {}));
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_LE(max_busy, GetParam());
}

TEST_P(DeviceTest, AThreadWithASlotAcquiresItAgain) {
  const auto made = shared_device(GetParam());
  ASSERT_TRUE(made);
  const TaskQueue queue = queue_of(3, note_busy);
  Walk walk(queue);
  void* const no_operands = nullptr;
  const Device::WalkerSlot walker(**made);
  const Device::WalkerSlot again(**made);
  EXPECT_TRUE(walk.run(**made, &no_operands, {}));
}

TEST_P(DeviceTest, GivesAlignedScratchOfItsOwnToEachThread) {
  const auto made = shared_device(GetParam());
  ASSERT_TRUE(made);
  Device& device = **made;
  auto fill = +[](const KernelArgs* args, uint32_t block, uint32_t) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(args->scratch) % 64, 0u);
    auto* words = static_cast<uint32_t*>(args->scratch);
    for (uint32_t i = 0; i < 1000; ++i) words[i] = block;
    for (uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(words[i], block);
  };
  TaskQueue queue{.tasks = {{.blocks = 64, .scratch_bytes = 4000, .kernel = fill}},
                  .streams = {{0}}};
  Walk walk(queue);
  void* const no_operands = nullptr;
  EXPECT_TRUE(walk.run(device, &no_operands, {}));
}

TEST_P(DeviceTest, FlushesDenormalsWhereAskedOnEveryThread) {
  const auto made = shared_device(GetParam());
  ASSERT_TRUE(made);
  Device& device = **made;
  auto halve = +[](const KernelArgs* args, uint32_t block, uint32_t) {
    volatile float tiny = std::ldexp(1.0f, -126);
    volatile float half = 0.5f;
    static_cast<float*>(args->pointers[0])[block] = tiny * half;
  };
  std::vector<float> out(64, -1.0f);
  void* operands[] = {out.data()};
  for (const bool flush : {true, false, true}) {
    TaskQueue queue{.tasks = {{.flush_denormals = flush, .blocks = 64, .kernel = halve}},
                    .streams = {{0}}};
    Walk walk(queue);
    ASSERT_TRUE(walk.run(device, operands, {}));
    for (const float x : out) EXPECT_EQ(x == 0.0f, flush);
  }
}

// The first failure in task order is reported, nothing begins after it, and the walk can be used
// again.
TEST_P(DeviceTest, ReportsTheFirstFailureInTaskOrder) {
  const auto made = shared_device(GetParam());
  ASSERT_TRUE(made);
  Device& device = **made;
  static std::atomic<bool> fails;
  static std::atomic<int> ran;
  auto call = +[](const void* state, void* const*, uint32_t) -> Result<void> {
    ++ran;
    if (fails && state != nullptr)
      return make_error(ErrorCode::kBadValue, "{}", static_cast<const char*>(state));
    return {};
  };
  TaskQueue queue;
  queue.tasks = {{.call = call},
                 {.call = call, .call_state = "second"},
                 {.call = call, .call_state = "third"},
                 {.call = call}};
  queue.streams = {{0, 1, 2, 3}};
  Walk walk(queue);
  void* const no_operands = nullptr;
  for (const bool failing : {true, false}) {
    fails = failing;
    ran = 0;
    const auto done = walk.run(device, &no_operands, {});
    ASSERT_EQ(done.ok(), !failing);
    if (failing) {
      EXPECT_EQ(done.error().message, "second");
    }
    EXPECT_EQ(ran, failing ? 2 : 4);
  }
}

// Block 11 of a kernel meets an index out of range while pointers[0] points to true.
void fault_at_times(const KernelArgs* args, uint32_t block, uint32_t) {
  if (block == 11 && *static_cast<const bool*>(args->pointers[0])) *args->fault = 7;
}

// The task that met an index out of range is reported, once, whichever thread ran the block.
TEST_P(DeviceTest, AnIndexOutOfRangeIsTheRunsError) {
  const auto made = shared_device(GetParam());
  ASSERT_TRUE(made);
  TaskQueue queue{.tasks = {{.blocks = 64, .kernel = fault_at_times},
                            {.blocks = 64, .operand_begin = 1, .kernel = fault_at_times},
                            {.blocks = 64, .kernel = fault_at_times}},
                  .streams = {{0, 1, 2}}};
  Walk walk(queue);
  bool never = false, faults = false;
  void* operands[] = {&never, &faults};
  for (int round = 0; round < 200; ++round) {
    faults = round % 2 == 0;
    const auto done = walk.run(**made, operands, {});
    ASSERT_EQ(done.ok(), !faults);
    if (done) continue;
    EXPECT_EQ(done.error().code, ErrorCode::kBadValue);
    EXPECT_EQ(done.error().message, "an index is out of range, or an integer is divided by 0");
    EXPECT_EQ(walk.failed_task(), 1u);
  }
}

TEST(SharedDevice, IsOnePerNumberOfThreads) {
  const auto two = shared_device(2).value();
  EXPECT_EQ(two, shared_device(2).value());
  EXPECT_NE(two, shared_device(3).value());
  EXPECT_EQ(shared_device(0).value()->threads(), 1);
}

struct RunCount {
  std::atomic<int> busy{0};
  std::atomic<int> maximum{0};
};

void note_busy_run(const KernelArgs* args, uint32_t block, uint32_t blocks) {
  auto& run = *static_cast<RunCount*>(args->pointers[0]);
  raise_to(run.maximum, ++run.busy);
  note_busy(args, block, blocks);
  --run.busy;
}

// Runs on 1, 2, 2 and 4 threads go on together: none uses more threads than its own number, and no
// more than four threads are busy in all.
TEST(SharedDevice, RunsOfDifferentThreadCountsShareTheThreads) {
  busy = max_busy = 0;
  const TaskQueue queue = queue_of(40, note_busy_run);
  const std::vector<int> widths{1, 2, 2, 4, 4};
  std::vector<RunCount> counts(widths.size());
  const auto widest = shared_device(4).value();  // lives longer than every run
  std::vector<std::thread> callers;
  for (size_t i = 0; i < widths.size(); ++i) {
    callers.emplace_back([&, i] {
      const auto device = shared_device(widths[i]).value();
      Walk walk(queue);
      void* operands[] = {&counts[i]};
      for (uint32_t t = 0; t < 3; ++t) EXPECT_TRUE(walk.run(*device, operands, {}));
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_LE(max_busy, 4);
  EXPECT_GT(max_busy, 1);
  for (size_t i = 0; i < widths.size(); ++i) EXPECT_LE(counts[i].maximum, widths[i]) << "run " << i;
}

// Threads are started as the first device that needs them is made, and end with the last device.
TEST(SharedDevice, GrowsWhileRunsGoOn) {
  const TaskQueue queue = queue_of(30, note_busy);
  std::thread walker([&] {
    const auto device = shared_device(2).value();
    Walk walk(queue);
    void* const no_operands = nullptr;
    for (int round = 0; round < 10; ++round) EXPECT_TRUE(walk.run(*device, &no_operands, {}));
  });
  for (int threads = 1; threads < 12; ++threads) {
    const auto device = shared_device(threads).value();
    Walk walk(queue);
    void* const no_operands = nullptr;
    EXPECT_TRUE(walk.run(*device, &no_operands, {}));
  }
  walker.join();
}

}  // namespace
}  // namespace sluice
