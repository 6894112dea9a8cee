#include "runtime/program/schedule_fuzzer.h"

#include <gtest/gtest.h>

#include <cstring>

#include "runtime/executor/testing/mix_kernel.h"

namespace sluice {
namespace {

using ModelRun = sluice::Run;  // gtest has a Run of its own

std::vector<std::vector<uint32_t>> outputs_of(const ModelRun& run) {
  std::vector<std::vector<uint32_t>> outputs;
  for (size_t k = 0; k < 2; ++k) {
    const auto bytes = run.output(k);
    outputs.emplace_back(bytes.size() / 4);
    std::memcpy(outputs.back().data(), bytes.data(), bytes.size());
  }
  return outputs;
}

// Returns how many of the orders, one for each seed, compute other values than the plain one.
int count_wrong(const pb::ModelDef& model, uint64_t seeds) {
  const TestKernels kernels = testing::mix_kernels();
  const auto bytes = testing::om_bytes(model);
  const auto opened = StaticModel::open(OmBytes::copy(bytes).value(), {.test_kernels = &kernels});
  if (!opened) {
    ADD_FAILURE() << opened.error().message;
    return -1;
  }
  ModelRun run(*opened, shared_device(2).value());
  std::vector<uint32_t> x(testing::kThreeStreamsElements);
  for (uint32_t i = 0; i < x.size(); ++i) x[i] = i * 747796405u;
  EXPECT_TRUE(run.bind_input(0, std::as_bytes(std::span(x))));
  const auto expected = testing::three_streams_expected(testing::make_three_streams(), x);
  int wrong = 0;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    ScheduleFuzzer fuzzer(seed);
    EXPECT_TRUE(run.execute(fuzzer.observe(run)));
    wrong += outputs_of(run) != expected ? 1 : 0;
  }
  return wrong;
}

TEST(ScheduleFuzzer, EveryOrderOfThreeStreamsIsRight) {
  EXPECT_EQ(count_wrong(testing::make_three_streams(), 1000), 0);
}

// Each event of the model is needed: without it some order is wrong.
TEST(ScheduleFuzzer, FindsAnEventThatIsMissing) {
  for (uint32_t event = 0; event < 4; ++event) {
    const pb::ModelDef model = testing::without_event(testing::make_three_streams(), event);
    EXPECT_GT(count_wrong(model, 50), 0) << "event " << event;
  }
}

}  // namespace
}  // namespace sluice
