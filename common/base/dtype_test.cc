#include "common/base/dtype.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(DType, NamesRoundTrip) {
  for (int i = 1; i < kDTypeCount; ++i)
    EXPECT_EQ(dtype_from_name(dtype_name(static_cast<DType>(i))), static_cast<DType>(i));
  EXPECT_FALSE(dtype_from_name("undefined").has_value());
}

TEST(DType, SubByteElementsArePacked) {
  EXPECT_EQ(dtype_bytes(DType::kI4, 5), 3u);
  EXPECT_EQ(dtype_bytes(DType::kI2, 5), 2u);
  EXPECT_EQ(dtype_bytes(DType::kF32, 5), 20u);
  EXPECT_EQ(dtype_bytes(DType::kString, 5), 0u);
}

}  // namespace
}  // namespace sluice
