#include "stages/build/package/verify_loadable.h"

#include <gtest/gtest.h>

#include "common/base/limits.h"
#include "common/omfile/om_format.h"

namespace sluice {
namespace {

pb::ModelDef empty_model() {
  pb::ModelDef model;
  model.add_parts()->mutable_fixed()->mutable_memory();
  return model;
}

TEST(VerifyLoadable, AcceptsWhatALoaderOpens) { EXPECT_TRUE(verify_loadable(empty_model()).ok()); }

TEST(VerifyLoadable, ScratchBeyondTheLimitIsOurOwnFault) {
  pb::ModelDef model = empty_model();
  pb::KernelDef& kernel = *model.add_kernels();
  kernel.set_entry("k_1");
  kernel.set_blocks(1);
  kernel.set_scratch_bytes(kScratchLimit);
  EXPECT_TRUE(verify_loadable(model).ok());
  kernel.set_scratch_bytes(kScratchLimit + 1);
  const Result<void> verdict = verify_loadable(model);
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.error().code, ErrorCode::kInternal);
  EXPECT_EQ(verdict.error().message,
            "the compiled model would be refused by its loader: kernel 'k_1' needs more scratch "
            "than a worker has");
}

TEST(VerifyLoadable, PartsAreVerifiedToo) {
  pb::ModelDef model = empty_model();
  model.mutable_parts(0)->mutable_fixed()->mutable_memory()->set_scratch_bytes(kScratchLimit + 1);
  const Result<void> verdict = verify_loadable(model);
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.error().code, ErrorCode::kInternal);
}

}  // namespace
}  // namespace sluice
