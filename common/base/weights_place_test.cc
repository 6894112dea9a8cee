#include "common/base/weights_place.h"

#include <gtest/gtest.h>

#include "common/base/files.h"
#include "common/base/testing/test_folder.h"

namespace sluice {
namespace {

TEST(WeightsPlace, IsBesideTheModelAndNamedAfterIt) {
  const WeightsPlace place = weights_place("/models/a.b.om");
  EXPECT_EQ(place.folder, "/models/weight");
  EXPECT_EQ(place.combined_file(), "/models/weight/a.b_weight_combined");
  EXPECT_EQ(place.index_file(), "/models/weight/a.b_weight.json");
  EXPECT_EQ(place.shared_file(sha256("")),
            "/models/weight/"
            "weight_e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(weights_place("a.om").combined_file(), "weight/a_weight_combined");
  EXPECT_EQ(weights_place("a.omx").name, "a.omx");
  EXPECT_EQ(weights_place("x/.om").name, ".om");
}

TEST(WeightsPlace, NeedsAFolder) {
  const TestFolder folder;
  EXPECT_TRUE(check_has_weights_place(folder.file("new.om")));
  ASSERT_TRUE(write_text(folder.file("old.om"), "old"));
  EXPECT_TRUE(check_has_weights_place(folder.file("old.om")));
  for (const char* none : {"-", "/dev/null", "/proc/self/fd/1"}) {
    const auto checked = check_has_weights_place(none);
    ASSERT_FALSE(checked) << none;
    EXPECT_EQ(checked.error().code, ErrorCode::kUsage);
  }
}

}  // namespace
}  // namespace sluice
