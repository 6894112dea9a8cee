#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "common/base/tensor.h"
#include "common/base/testing/test_folder.h"
#include "common/omfile/testing/model_builder.h"
#include "runtime/api/sluice.hpp"

namespace sluice {
namespace {

constexpr size_t kElements = 96;

// A model that computes y = x by a copy through the arena.
std::string write_model(const std::string& name) {
  testing::ModelBuilder b;
  const uint32_t type = b.type(DType::kF32, {2, 48});
  const uint32_t x = b.input("x", type);
  const uint32_t y = b.output("y", type);
  const uint32_t middle = b.arena_value("middle", type);
  const uint32_t stream = b.stream("s");
  b.copy("in", stream, middle, x);
  b.copy("out", stream, y, middle);
  b.model.add_made_from(std::string(32, '\x11'));
  static const TestFolder folder;
  const std::string path = folder.file(name + ".om");
  EXPECT_TRUE(write_om(path, b.model, {}));
  return path;
}

TEST(Api, OpensQueriesRuns) {
  const std::string path = write_model("api");
  sluice_model* model = nullptr;
  ASSERT_EQ(sluice_model_open(path.c_str(), SLUICE_OPEN_VERIFY_WEIGHTS, &model), 0)
      << sluice_last_error();
  EXPECT_EQ(sluice_model_count(model, SLUICE_COUNT_INPUTS), 1u);
  EXPECT_EQ(sluice_model_count(model, SLUICE_COUNT_TASKS), 2u);
  EXPECT_EQ(sluice_model_count(model, SLUICE_COUNT_ARENA_BYTES), 384u);
  EXPECT_STREQ(sluice_model_text(model, SLUICE_TEXT_PROFILE), "cpu-generic");
  EXPECT_EQ(std::string(sluice_model_made_from(model, 0)).substr(0, 4), "1111");
  EXPECT_EQ(sluice_model_made_from(model, 1), nullptr);
  sluice_binding binding;
  ASSERT_EQ(sluice_model_output(model, 0, &binding), 0);
  EXPECT_STREQ(binding.name, "y");
  EXPECT_STREQ(binding.dtype_name, "f32");
  EXPECT_EQ(binding.rank, 2u);
  EXPECT_EQ(binding.dims[1], 48);
  EXPECT_EQ(binding.bytes, 384u);
  EXPECT_EQ(sluice_model_find_input(model, "x"), 0);
  EXPECT_EQ(sluice_model_find_output(model, "x"), -1);
  EXPECT_EQ(sluice_model_input(model, 1, &binding), 7004);

  sluice_run* run = nullptr;
  ASSERT_EQ(sluice_run_create(model, 2, &run), 0);
  sluice_model_close(model);
  EXPECT_EQ(sluice_run_execute(run), 7004);
  EXPECT_STREQ(sluice_last_error(), "SL7004: input 'x' is not bound");
  std::vector<float> x(kElements, 2.5f);
  uint64_t bytes = 77;
  EXPECT_EQ(sluice_run_output(run, 0, &bytes), nullptr);
  EXPECT_EQ(bytes, 0u);
  EXPECT_EQ(sluice_run_output(run, 1, nullptr), nullptr);
  ASSERT_EQ(sluice_run_bind_input(run, 0, x.data(), kElements * sizeof(float)), 0);
  ASSERT_EQ(sluice_run_execute(run), 0);
  const auto* y = static_cast<const float*>(sluice_run_output(run, 0, &bytes));
  EXPECT_EQ(bytes, 384u);
  EXPECT_EQ(y[kElements - 1], 2.5f);
  sluice_run_destroy(run);
}

TEST(Api, SaysWhatFailed) {
  sluice_model* model = nullptr;
  EXPECT_EQ(sluice_model_open("/nowhere/x.om", 0, &model), 1004);
  EXPECT_EQ(model, nullptr);
  EXPECT_NE(std::string(sluice_last_error()).find("/nowhere/x.om"), std::string::npos);
  std::thread([] { EXPECT_STREQ(sluice_last_error(), ""); }).join();
}

TEST(Api, NamesTheAxisThatDoesNotFit) {
  const api::Model model(write_model("axis"));
  api::Run run(model, 1);
  const std::vector<float> x(kElements + 2);
  const int64_t dims[] = {2, 49};
  const sluice_tensor wrong{1, 2, dims, x.data(), 2 * 49 * sizeof(float)};
  EXPECT_EQ(sluice_model_input(model.get(), 7, nullptr), 7004);
  try {
    run.bind_input(0, {wrong});
    FAIL();
  } catch (const api::Failure& failure) {
    EXPECT_STREQ(
        failure.what(),
        "SL7004: input 'x' takes f32 2x48, got f32 2x49: axis 1 is 49, the model takes 48");
  }
}

TEST(Api, CxxInterfaceRunsSeveralAtOnce) {
  const std::string path = write_model("cxx");
  const api::Model model(path);
  EXPECT_EQ(model.inputs().at(0).dims, (std::vector<int64_t>{2, 48}));
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&model, caller] {
      api::Run run(model, 2);
      std::vector<float> x(kElements, static_cast<float>(caller));
      run.bind_input(0, x.data(), kElements * sizeof(float));
      for (int i = 0; i < 50; ++i) run.execute();
      EXPECT_EQ(static_cast<const float*>(run.output(0))[5], static_cast<float>(caller));
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_THROW(api::Model("/nowhere/x.om"), api::Failure);
}

// A child has none of the parent's threads: its runs start threads of their own. The child ends by
// a signal when it waits for a thread that does not exist.
TEST(Api, RunsGoOnInAForkedChild) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP()
      << "the thread sanitizer knows no threads made in the child of a process of several threads";
#elif defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer's allocator does not survive a fork while a thread of the "
                  "parent starts: the child waits for its lock";
#endif
  const std::string path = write_model("fork");
  const api::Model model(path);
  api::Run run(model, 4);
  std::vector<float> x(kElements, 1.0f);
  run.bind_input(0, x.data(), kElements * sizeof(float));
  run.execute();
  for (int round = 0; round < 5; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(20);
      bool right = true;
      {
        auto* inherited = new api::Run(model, 3);
        inherited->bind_input(0, x.data(), kElements * sizeof(float));
        std::fill(x.begin(), x.end(), 3.0f);
        for (api::Run* each : {&run, inherited}) {
          for (int i = 0; i < 50; ++i) each->execute();
          right = right && static_cast<const float*>(each->output(0))[kElements - 1] == 3.0f;
        }
        delete inherited;
      }
      {
        const api::Run taken = std::move(run);
      }  // its device ends here
      ::_exit(right ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << (WIFSIGNALED(status) ? "signal " : "exit ") << status;
  }
  run.execute();
  EXPECT_EQ(static_cast<const float*>(run.output(0))[0], 1.0f);
}

}  // namespace
}  // namespace sluice
