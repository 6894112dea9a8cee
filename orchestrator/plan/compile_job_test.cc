#include "orchestrator/plan/compile_job.h"

#include <stdlib.h>

#include "common/base/files.h"
#include "common/base/testing/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orchestrator/plan/stage_job.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CompileJobTest : public ::testing::Test {
 protected:
  CompileJobTest() {
    ::setenv("PATH", SLUICE_PROGRAMS, 1);
    job_.graph = sha256(std::string_view("graph"));
    job_.artifact = sha256(std::string_view("bytes"));
    job_.arguments.resize(5);
    job_.profile = "cpu-generic";
  }

  std::string file(const std::string& name, std::string_view text) {
    const std::string path = folder_.file(name);
    EXPECT_TRUE(write_text(path, text).ok());
    return path;
  }
  Digest key(const CompileJob& job) {
    const auto record = record_of(job, store_);
    EXPECT_TRUE(record.ok()) << error_text(record.error());
    return record->key();
  }
  CompileJob back(const CompileJob& job) {
    const auto record = record_of(job, store_);
    EXPECT_TRUE(record.ok());
    const auto read = parse_record(record_text(*record));
    EXPECT_TRUE(read);
    const auto job_again = job_of(*read, store_, folder_.path());
    EXPECT_TRUE(job_again.ok()) << error_text(job_again.error());
    return *job_again;
  }

  const TestFolder folder_;
  Store store_{folder_.file("store")};
  CompileJob job_;
};

TEST_F(CompileJobTest, ARecordSaysAll) {
  job_.model = "/models/a.onnx";
  job_.arguments[3] = {"--math=high_precision"};
  job_.arguments[4] = {"--skip=order-tasks,plan-memory", "--denormals=ieee"};
  const CompileJob again = back(job_);
  EXPECT_EQ(again.graph, job_.graph);
  EXPECT_EQ(again.artifact, job_.artifact);
  EXPECT_EQ(again.model, job_.model);
  EXPECT_THAT(again.arguments[1], ElementsAre("--profile=cpu-generic"));
  EXPECT_THAT(again.arguments[3], ElementsAre("--math=high_precision"));
  EXPECT_THAT(again.arguments[4],
              ElementsAre("--denormals=ieee", "--skip=order-tasks,plan-memory"));
  EXPECT_EQ(key(again), key(job_));
}

TEST_F(CompileJobTest, TheKeyIsOfWhatChangesTheProduct) {
  const Digest first = key(job_);
  CompileJob same = job_;
  same.artifact = sha256(std::string_view("the same graph with constants elsewhere"));
  same.model = "/elsewhere/a.onnx";
  EXPECT_EQ(key(same), first);
  CompileJob graph = job_, profile = job_, option = job_, stage = job_;
  graph.graph = sha256(std::string_view("another graph"));
  profile.profile = "cpu-avx2";
  option.arguments[4] = {"--denormals=ieee"};
  stage.arguments[3] = {"--skip=x"};
  for (const CompileJob& other : {graph, profile, option, stage}) EXPECT_NE(key(other), first);
  CompileJob later = job_;
  later.arguments[4] = {"--skip=x"};
  EXPECT_NE(key(later), key(stage)) << "the same option of another stage";
}

TEST_F(CompileJobTest, FilesThatOptionsNameTravelByContent) {
  const std::string list = file("list.json", R"({"black-list": {"to-add": ["MatMul"]}})");
  job_.arguments[1] = {"--modify-mixlist=" + list};
  const Digest first = key(job_);
  CompileJob moved = job_;
  moved.arguments[1] = {"--modify-mixlist=" + file("moved.json", read_text(list).value())};
  EXPECT_EQ(key(moved), first);
  const CompileJob again = back(job_);
  ASSERT_EQ(again.arguments[1].size(), 2u);
  const std::string path = again.arguments[1][1].substr(sizeof("--modify-mixlist=") - 1);
  EXPECT_EQ(read_text(path).value(), read_text(list).value());
  ASSERT_TRUE(write_text(list, "{}").ok());
  EXPECT_NE(key(job_), first);
}

TEST_F(CompileJobTest, AFileThatTheStoreLostIsSaid) {
  job_.arguments[1] = {"--customize-dtypes=" + file("dtypes", "a f16\n")};
  const auto record = record_of(job_, store_);
  ASSERT_TRUE(record.ok());
  Store empty(folder_.file("empty"));
  const auto job = job_of(*record, empty, folder_.path());
  ASSERT_FALSE(job.ok());
  EXPECT_THAT(error_text(job.error()), HasSubstr("has lost the file sha256:"));
}

TEST_F(CompileJobTest, ARecordOfSomethingElseIsNoJob) {
  auto record = record_of(job_, store_);
  ASSERT_TRUE(record.ok());
  record->kind = "kernel";
  EXPECT_FALSE(job_of(*record, store_, folder_.path()).ok());
  EXPECT_FALSE(job_of(Record{"compile", {}, {}}, store_, folder_.path()).ok());
}

TEST(ProfileFieldTest, TellsNamedFromNativeOnes) {
  EXPECT_EQ(profile_field("cpu-generic").value(), "cpu-generic");
  const std::string native = profile_field("").value();
  EXPECT_TRUE(native.starts_with("native cpu-")) << native;
  EXPECT_EQ(profile_field("native").value(), native);
  EXPECT_EQ(profile_option(native), "native");
  EXPECT_EQ(profile_option("cpu-generic"), "cpu-generic");
  EXPECT_FALSE(profile_field("cpu-none").ok());
}

}  // namespace
}  // namespace sluice
