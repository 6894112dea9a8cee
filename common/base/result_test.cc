#include "common/base/result.h"

#include <gtest/gtest.h>

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

TEST(Result, TextHasCodeFileAndHint) {
  Error error = make_error(ErrorCode::kWrongLevel, "needs level 'lowered', got 'typed'").with_hint("run sluice-partition first");
  error.file = "a.sg";
  EXPECT_EQ(error_text(error), "SL1002: needs level 'lowered', got 'typed' [a.sg]\nhint: run sluice-partition first");
  EXPECT_EQ(exit_class(error.code), ExitClass::kBadInput);
}

}  // namespace
}  // namespace sluice
