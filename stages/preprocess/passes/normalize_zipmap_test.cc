#include <gtest/gtest.h>

#include "stages/preprocess/testing/after_pass.h"

namespace sluice {
namespace {

constexpr char kZipMap[] = R"(graph @main(%x: f32[2, 2]) -> (%maps) {
  %keys = constant i64[2] [7, 8]
  %maps: seq(map(i64, f32[])) = ZipMap(%x, %keys)
}
)";

TEST(NormalizeZipmap, TheTensorHasTheMapsName) {
  Options options;
  ASSERT_TRUE(options.set("zipmap", "tensor"));
  const std::string text = after_pass(normalize_zipmap, kZipMap, options);
  EXPECT_NE(text.find("-> (%maps)"), std::string::npos) << text;
  EXPECT_NE(text.find("%maps: f32[2, 2] = Identity(%x)"), std::string::npos) << text;
}

TEST(NormalizeZipmap, MapsStayUnlessTheTensorIsAskedFor) {
  EXPECT_EQ(after_pass(normalize_zipmap, kZipMap), "unchanged");
}

}  // namespace
}  // namespace sluice
