#include "runtime/executor/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "common/base/tensor.h"
#include "runtime/executor/static_model.h"
#include "runtime/executor/testing/mix_kernel.h"

namespace sluice {
namespace {

using testing::make_three_streams;
using testing::ModelBuilder;
using testing::om_bytes;
using testing::three_streams_expected;
using ModelRun = sluice::Run;  // gtest has a Run of its own

std::shared_ptr<const StaticModel> open_model(const pb::ModelDef& model,
                                              const TestKernels& kernels) {
  const auto bytes = om_bytes(model);
  auto opened = StaticModel::open(OmBytes::copy(bytes).value(), {.test_kernels = &kernels});
  EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
  return opened ? *opened : nullptr;
}

std::vector<uint32_t> words_of(uint32_t seed) {
  std::vector<uint32_t> words(testing::kThreeStreamsElements);
  for (uint32_t& word : words) word = seed = seed * 747796405u + 2891336453u;
  return words;
}

std::vector<uint32_t> output_words(const Run& run, size_t index) {
  const auto bytes = run.output(index);
  std::vector<uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

const TestKernels kMixKernels = testing::mix_kernels();

class ThreeStreamsTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, ThreeStreamsTest, ::testing::Values(1, 2, 4));

TEST_P(ThreeStreamsTest, RightAThousandTimes) {
  const auto three = make_three_streams();
  ASSERT_EQ(three.parts(0).fixed().streams_size(), 3);
  ASSERT_EQ(three.parts(0).fixed().events_size(), 4);
  const auto& kinds = three.parts(0).fixed().task_kind();
  ASSERT_EQ(std::count(kinds.begin(), kinds.end(), pb::TASK_TEST), 200);
  const auto model = open_model(three, kMixKernels);
  ASSERT_NE(model, nullptr);
  ModelRun run(model, shared_device(GetParam()).value());
  for (uint32_t i = 0; i < 1000; ++i) {
    const auto x = words_of(i % 7);
    ASSERT_TRUE(run.bind_input(0, std::as_bytes(std::span(x))));
    ASSERT_TRUE(run.execute());
    const auto expected = three_streams_expected(three, x);
    ASSERT_EQ(output_words(run, 0), expected[0]) << "run " << i;
    ASSERT_EQ(output_words(run, 1), expected[1]) << "run " << i;
  }
}

TEST_P(ThreeStreamsTest, SeveralRunsAtOnceOnOneModel) {
  const auto three = make_three_streams();
  const auto model = open_model(three, kMixKernels);
  const auto device = shared_device(GetParam()).value();
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (uint32_t caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&, caller] {
      ModelRun run(model, device);
      const auto x = words_of(100 + caller);
      const auto expected = three_streams_expected(three, x);
      if (!run.bind_input(0, std::as_bytes(std::span(x)))) ++wrong;
      for (int i = 0; i < 100; ++i) {
        if (!run.execute() || output_words(run, 0) != expected[0] ||
            output_words(run, 1) != expected[1])
          ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

void negate(const KernelArgs* args, uint32_t, uint32_t) {
  for (int i = 0; i < 16; ++i)
    static_cast<float*>(args->pointers[0])[i] = -static_cast<const float*>(args->pointers[1])[i];
}

// The addresses at which the kernels found their operands.
thread_local const void* seen_input = nullptr;
thread_local const void* seen_output = nullptr;
void negate_and_see(const KernelArgs* args, uint32_t block, uint32_t blocks) {
  seen_output = args->pointers[0];
  seen_input = args->pointers[1];
  negate(args, block, blocks);
}

pb::ModelDef negate_model(bool ieee = false) {
  ModelBuilder b;
  const uint32_t type = b.type(DType::kF32, {16});
  const uint32_t x = b.input("x", type);
  const uint32_t y = b.output("y", type);
  b.launch("negate", b.stream("s"), b.test_kernel("k", 1), {y}, {x});
  if (ieee) {
    b.model.add_options()->set_name("denormals");
    b.model.mutable_options(0)->set_value("ieee");
  }
  return b.model;
}

using Floats = std::vector<float, CacheLineAllocator<float>>;

TEST(Run, BindsAlignedMemoryInPlaceAndCopiesOther) {
  const auto model = open_model(negate_model(), {{"k", negate_and_see}});
  ModelRun run(model, shared_device(1).value());
  Floats in(32, 1.0f);
  Floats out(32, 0.0f);
  ASSERT_TRUE(run.bind_input(0, std::as_bytes(std::span(in).first(16))));
  ASSERT_TRUE(run.bind_output(0, std::as_writable_bytes(std::span(out).first(16))));
  ASSERT_TRUE(run.execute());
  EXPECT_EQ(seen_input, in.data());
  EXPECT_EQ(seen_output, out.data());
  EXPECT_EQ(out[15], -1.0f);
  EXPECT_EQ(out[16], 0.0f);
  std::fill(in.begin(), in.end(), 2.0f);
  ASSERT_TRUE(run.bind_input(0, std::as_bytes(std::span(in).subspan(1, 16))));
  ASSERT_TRUE(run.bind_output(0, std::as_writable_bytes(std::span(out).subspan(16, 16))));
  ASSERT_TRUE(run.bind_output(0, std::as_writable_bytes(std::span(out).subspan(3, 16))));
  ASSERT_TRUE(run.execute());
  EXPECT_NE(seen_input, in.data() + 1);
  EXPECT_NE(seen_output, out.data() + 3);
  EXPECT_EQ(out[3], -2.0f);
  EXPECT_EQ(out[18], -2.0f);
  EXPECT_EQ(out[19], 0.0f);
}

TEST(Run, SaysWhatIsNotBoundOrDoesNotFit) {
  const auto model = open_model(negate_model(), {{"k", negate}});
  ModelRun run(model, shared_device(1).value());
  const auto unbound = run.execute();
  ASSERT_FALSE(unbound);
  EXPECT_EQ(unbound.error().code, ErrorCode::kBadBinding);
  EXPECT_EQ(unbound.error().message, "input 'x' is not bound");
  Floats in(15);
  const auto shape_mismatch = run.bind_input(0, std::as_bytes(std::span(in)));
  ASSERT_FALSE(shape_mismatch);
  EXPECT_EQ(shape_mismatch.error().message, "input 'x' has 64 bytes, got 60");
  EXPECT_FALSE(run.bind_input(1, std::as_bytes(std::span(in))));
}

TEST(Run, FlushesDenormalsUnlessAskedNotTo) {
  Floats in(16, 1e-40f);
  auto halve = +[](const KernelArgs* args, uint32_t, uint32_t) {
    volatile float half = 0.5f;
    for (int i = 0; i < 16; ++i)
      static_cast<float*>(args->pointers[0])[i] =
          static_cast<const float*>(args->pointers[1])[i] * half;
  };
  for (const bool ieee : {false, true}) {
    const auto model = open_model(negate_model(ieee), {{"k", halve}});
    ModelRun run(model, shared_device(1).value());
    ASSERT_TRUE(run.bind_input(0, std::as_bytes(std::span(in))));
    ASSERT_TRUE(run.execute());
    float out = -1;
    std::memcpy(&out, run.output(0).data(), 4);
    EXPECT_EQ(out > 0, ieee);
  }
  volatile float tiny = 1e-40f;
  volatile float one = 1.0f;
  EXPECT_GT(tiny * one, 0) << "the caller's own mode must be back";
}

// Computes y[block] = x[index[block]] of 16 elements; operands: y, x, index.
void pick(const KernelArgs* args, uint32_t block, uint32_t) {
  const int64_t index = static_cast<const int64_t*>(args->pointers[2])[block];
  const int64_t clamped = std::clamp<int64_t>(index, 0, 15);
  if (clamped != index) *args->fault = 1;
  static_cast<float*>(args->pointers[0])[block] =
      static_cast<const float*>(args->pointers[1])[clamped];
}

pb::ModelDef pick_model(bool names_op) {
  ModelBuilder b;
  const uint32_t x = b.input("x", b.type(DType::kF32, {16}));
  const uint32_t index = b.input("index", b.type(DType::kI64, {8}));
  const uint32_t y = b.output("y", b.type(DType::kF32, {8}));
  b.launch("g", b.stream("s"), b.test_kernel("pick", 8), {y}, {x, index});
  if (names_op) {
    b.model.add_ops("Gather");
    b.model.add_node_op(0);
  }
  return b.model;
}

TEST(Run, AnIndexOutOfRangeIsAnErrorThatNamesTheNode) {
  const Floats x(16, 1.5f);
  std::vector<int64_t> index(8, 15);
  for (const bool names_op : {false, true}) {
    const auto model = open_model(pick_model(names_op), {{"pick", pick}});
    for (const int threads : {1, 2}) {
      ModelRun run(model, shared_device(threads).value());
      ASSERT_TRUE(run.bind_input(0, std::as_bytes(std::span(x))));
      for (const int64_t last : {int64_t{16}, int64_t{0}, int64_t{-1}}) {
        index[7] = last;
        ASSERT_TRUE(run.bind_input(1, std::as_bytes(std::span(index))));
        const auto done = run.execute();
        ASSERT_EQ(done.ok(), last == 0);
        if (done) continue;
        EXPECT_EQ(done.error().code, ErrorCode::kBadValue);
        EXPECT_EQ(done.error().message,
                  std::string(names_op ? "node 'g' (Gather)" : "node 'g'") +
                      ": an index is out of range, or an integer is divided by 0");
      }
    }
  }
}

TEST(Run, CopiesAndShowsEveryTaskToAnObserver) {
  ModelBuilder b;
  const uint32_t type = b.type(DType::kF32, {16});
  const uint32_t x = b.input("x", type);
  const uint32_t y = b.output("y", type);
  const uint32_t middle = b.arena_value("middle", type);
  const uint32_t stream = b.stream("s");
  b.launch("negate", stream, b.test_kernel("k", 1), {middle}, {x});
  b.copy("copy", stream, y, middle);
  const TestKernels kernels{{"k", negate}};
  const auto model = open_model(b.model, kernels);
  ModelRun run(model, shared_device(2).value());
  Floats in(16, 3.0f);
  ASSERT_TRUE(run.bind_input(0, std::as_bytes(std::span(in))));
  std::vector<uint32_t> seen;
  std::vector<TaskTime> times(2);
  WalkObserver observer;
  observer.times = &times;
  observer.after_task = [&](uint32_t task) -> Result<void> {
    seen.push_back(task);
    float first = 0;
    std::memcpy(&first, run.value(task == 0 ? 2 : 1).data(), 4);
    EXPECT_EQ(first, -3.0f);
    return {};
  };
  ASSERT_TRUE(run.execute(observer));
  EXPECT_THAT(seen, ::testing::ElementsAre(0, 1));
  EXPECT_LE(times[0].begin_ns, times[0].end_ns);
  EXPECT_LE(times[0].end_ns, times[1].begin_ns);
  observer.after_task = [](uint32_t) -> Result<void> { return make_error(ErrorCode::kIo, "no"); };
  EXPECT_FALSE(run.execute(observer));
  EXPECT_TRUE(run.execute());
}

}  // namespace
}  // namespace sluice
