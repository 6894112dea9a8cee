#include "orchestrator/compile/in_order.h"

#include <stdlib.h>

#include "common/base/files.h"
#include "common/base/testing/test_folder.h"
#include "common/graphfile/header.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orchestrator/compile/stage_process.h"
#include "orchestrator/compile/stages.h"
#include "orchestrator/plan/kernel_job.h"
#include "orchestrator/process/programs.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kGraph[] = R"(sluice 1 typed
graph @main(%x: f32[100, 8], %w: f32[8, 100]) -> (%y, %z) {
  %y: f32[100, 8] = Exp(%x)
  %z: f32[100, 100] = MatMul(%x, %w)
}
)";

class MakeKernelsTest : public ::testing::Test {
 protected:
  MakeKernelsTest() {
    ::setenv("PATH", SLUICE_PROGRAMS, 1);
    work_.profile = "cpu-generic";
    work_.store = &store_;
    work_.folder = folder_.path();
    for (size_t i = 1; i < kStageNames.size(); ++i) {
      const std::string name(kStageNames[i]);
      work_.stages.push_back({.name = name,
                              .program = find_program("sluice-" + name).value(),
                              .options = {"--store=" + store_.path()},
                              .input = "-",
                              .store_use = StoreUse::kTake});
    }
    work_.stages[0].options.push_back("--profile=cpu-generic");
    work_.stages[0].semantic = {"--profile=cpu-generic"};
    graph_.file = folder_.file("graph.sg");
    EXPECT_TRUE(write_text(folder_.file("graph.txt"), kGraph).ok());
    const StageRun as{
        .name = "as", .program = find_program("sluice-as").value(), .options = {}, .input = "-"};
    const auto made = run_over_file(as, {"-o", graph_.file}, folder_.file("graph.txt"), -1);
    EXPECT_TRUE(made.ok() && made->ending.clean()) << made->messages;
    const auto file = MappedFile::open(graph_.file);
    graph_.graph = parse_graph_header(file->bytes())->file_digest;
  }

  Result<bool> compile() {
    auto output = OutputFile::create(folder_.file("model.om"));
    EXPECT_TRUE(output.ok());
    const auto done = [this](size_t, const StageReport& report) { messages_ += report.messages; };
    return run_in_order(work_, graph_, *output, done);
  }

  const TestFolder folder_;
  Store store_{folder_.file("store")};
  OrderedStages work_;
  GraphProduct graph_;
  std::string messages_;
};

TEST_F(MakeKernelsTest, GetsTheJobsOfWhatTheStoreLacks) {
  std::vector<std::vector<Digest>> calls;
  work_.make_kernels = [&](const std::vector<Digest>& keys) -> Result<void> {
    calls.push_back(keys);
    for (const Digest& key : keys) {
      const auto job = store_.find_job(key);
      EXPECT_TRUE(job && kernel_job_of(*job).ok());
      EXPECT_TRUE(store_.find_artifact(kernel_job_of(*job)->graph));
      EXPECT_FALSE(has_kernel(key, store_));
    }
    return {};
  };
  const auto succeeded = compile();
  ASSERT_TRUE(succeeded.ok() && *succeeded) << messages_;
  ASSERT_THAT(calls, ElementsAre(SizeIs(2)));
  for (const Digest& key : calls[0]) EXPECT_TRUE(has_kernel(key, store_)) << "the stage made it";
  ASSERT_TRUE(*compile());
  EXPECT_THAT(calls, SizeIs(1)) << "the product of the stage is found";
  work_.stages[2].options.push_back("--threads=1");
  work_.stages[2].options.push_back("--denormals=ieee");
  work_.stages[2].semantic = {"--denormals=ieee"};
  ASSERT_TRUE(*compile());
  EXPECT_THAT(calls, SizeIs(1)) << "all kernels are in the store";
}

TEST_F(MakeKernelsTest, AnErrorEndsTheCompile) {
  work_.make_kernels = [](const std::vector<Digest>&) -> Result<void> {
    return make_error(ErrorCode::kIo, "no machine is left");
  };
  const auto succeeded = compile();
  ASSERT_FALSE(succeeded.ok());
  EXPECT_THAT(error_text(succeeded.error()), HasSubstr("no machine is left"));
}

}  // namespace
}  // namespace sluice
