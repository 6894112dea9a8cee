#include "common/target/profile.h"

#include <gmock/gmock.h>

namespace sluice {
namespace {

TEST(Profile, BuiltInProfilesAreComplete) {
  EXPECT_THAT(profile_names(), testing::ElementsAre("cpu-avx512", "cpu-avx2", "cpu-generic"));
  for (const std::string& name : profile_names()) {
    auto profile = get_profile(name);
    ASSERT_TRUE(profile.ok()) << error_text(profile.error());
    EXPECT_EQ(profile->name, name);
    EXPECT_EQ("cpu-" + profile->isa, name);
    EXPECT_THAT(profile->engines, testing::Contains("aicore"));
  }
}

TEST(Profile, ValuesComeFromTheFiles) {
  auto wide = get_profile("cpu-avx512");
  auto narrow = get_profile("cpu-generic");
  ASSERT_TRUE(wide.ok() && narrow.ok());
  EXPECT_EQ(wide->vector_bits, 512);
  EXPECT_EQ(wide->vector_registers, 32);
  EXPECT_TRUE(wide->fused_multiply_add);
  EXPECT_EQ(wide->llvm_cpu, "x86-64-v4");
  EXPECT_EQ(narrow->vector_bits, 128);
  EXPECT_FALSE(narrow->fused_multiply_add);
  EXPECT_EQ(narrow->scratch_limit, 1 << 20);
}

TEST(Profile, NativeIsResolvedToWhatTheCpuRuns) {
  auto profile = get_profile("native");
  ASSERT_TRUE(profile.ok());
  EXPECT_NE(profile->name, "native");
  EXPECT_TRUE(cpu_supports(profile->isa));
}

TEST(Profile, UnknownNamesListTheKnownOnes) {
  auto profile = get_profile("cpu-z80");
  ASSERT_FALSE(profile.ok());
  EXPECT_EQ(profile.error().code, ErrorCode::kBadOption);
  EXPECT_THAT(profile.error().hint, testing::HasSubstr("cpu-avx2"));
  EXPECT_FALSE(cpu_supports("z80"));
}

}  // namespace
}  // namespace sluice
