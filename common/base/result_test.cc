#include "common/base/result.h"

#include <gtest/gtest.h>

#include <vector>

#include "common/base/memory.h"

namespace sluice {
namespace {

Result<int> half(int x) {
  if (x % 2 != 0) return make_error(ErrorCode::kBadValue, "{} is odd", x);
  return x / 2;
}

Result<int> quarter(int x) {
  SLUICE_ASSIGN(const int y, half(x));
  SLUICE_TRY(half(y));
  return half(y);
}

TEST(Result, ErrorsTravelUp) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).error().message, "3 is odd");
}

TEST(WithinMemory, MakesAFailedAllocationAnError) {
  EXPECT_EQ(within_memory([] { return half(8); }).value(), 4);
  EXPECT_EQ(within_memory([]() -> Result<int> { throw std::bad_alloc(); }).error().code, ErrorCode::kLimit);
  EXPECT_EQ(within_memory([]() -> Result<int> { return static_cast<int>(std::vector<char>(SIZE_MAX).size()); }).error().code,
            ErrorCode::kLimit);
}

TEST(Result, TextHasCodeFileAndHint) {
  Error error = make_error(ErrorCode::kWrongLevel, "needs level 'lowered', got 'typed'").with_hint("run sluice-partition first");
  error.file = "a.sg";
  EXPECT_EQ(error_text(error), "SL1002: needs level 'lowered', got 'typed' [a.sg]\nhint: run sluice-partition first");
  EXPECT_EQ(exit_class(error.code), ExitClass::kBadInput);
}

}  // namespace
}  // namespace sluice
