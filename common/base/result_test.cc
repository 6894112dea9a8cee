#include "common/base/result.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
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

TEST(Error, SaysOnceWhereItIs) {
  const Error error = make_error(ErrorCode::kBadValue, "too large").within("node 'a' (Add)");
  EXPECT_EQ(error.message, "node 'a' (Add): too large");
  EXPECT_EQ(Error(error).within("node 'a' (Add)").message, error.message);
  EXPECT_EQ(Error(error).within("part 1").message, "part 1: node 'a' (Add): too large");
}

TEST(Result, ErrorsTravelUp) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).error().message, "3 is odd");
}

TEST(WithinMemory, MakesAFailedAllocationAnError) {
  EXPECT_EQ(within_memory([] { return half(8); }).value(), 4);
  EXPECT_EQ(within_memory([]() -> Result<int> { throw std::bad_alloc(); }).error().code,
            ErrorCode::kLimit);
  EXPECT_EQ(within_memory([]() -> Result<int> {
              return static_cast<int>(std::vector<char>(SIZE_MAX).size());
            })
                .error()
                .code,
            ErrorCode::kLimit);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // those limit addresses
// Ends with 0 when the errors of eight failed calls are there at once and without memory.
[[noreturn]] void fail_without_memory() {
  const rlimit none = {0, 0};
  ::setrlimit(RLIMIT_AS, &none);
  for (size_t bytes = size_t{1} << 20; bytes >= 16; bytes /= 2)
    while (std::malloc(bytes) != nullptr) continue;
  std::array<Result<int>, 8> results = {1, 1, 1, 1, 1, 1, 1, 1};
  int failed = 0;
  for (Result<int>& result : results) {
    result = within_memory([]() -> Result<int> { throw std::bad_alloc(); });
    failed += !result && result.error().code == ErrorCode::kLimit ? 1 : 0;
  }
  for (int i = 0; i < 1000; ++i)  // their places are free again afterwards
    failed += within_memory([]() -> Result<int> { throw std::bad_alloc(); }) ? 1 : 0;
  ::_exit(failed == 8 ? 0 : 1);
}

TEST(WithinMemory, NeedsNoneForItsErrors) {
  EXPECT_EXIT(fail_without_memory(), testing::ExitedWithCode(0), "");
}
#endif

TEST(WithinMemory, SaysWhoWantedHowMuch) {
  const auto failed = within_memory([]() -> Result<int> { throw MemoryRanOut(12345); },
                                    [] { return std::string("node 'x'"); });
  EXPECT_TRUE(
      failed.error().message.starts_with("node 'x': memory ran out: 12345 bytes more were wanted"))
      << failed.error().message;
  EXPECT_FALSE(failed.error().hint.empty());
}

TEST(Result, TextHasCodeFileAndHint) {
  Error error = make_error(ErrorCode::kWrongLevel, "needs level 'lowered', got 'typed'")
                    .with_hint("run sluice-partition first");
  error.file = "a.sg";
  EXPECT_EQ(error_text(error),
            "SL1002: needs level 'lowered', got 'typed' [a.sg]\nhint: run sluice-partition first");
  EXPECT_EQ(exit_class(error.code), ExitClass::kBadInput);
}

TEST(Result, TextEscapesAndCutsWhatNamesHold) {
  const Error error = make_error(ErrorCode::kBadNode, "node '{}' of '{}' is wrong:\n  one\n  two",
                                 "a\nsluice: error\x1b[31m", std::string(1000, 'x'));
  EXPECT_EQ(error_text(error), "SL2002: node 'a\\nsluice: error\\x1b[31m' of '" +
                                   std::string(200, 'x') +
                                   "… (1000 bytes)' is wrong:\n  one\n  two");
  EXPECT_EQ(error_text(make_error(ErrorCode::kBadNode, "it's\nsluice: error")),
            "SL2002: it's\\nsluice: error");
  EXPECT_EQ(error_text(make_error(ErrorCode::kBadNode, "{}", std::string("a\0b\x7f", 4))),
            "SL2002: a\\x00b\\x7f");
  std::string accents = "x";
  for (int i = 0; i < 300; ++i) accents += "é";
  EXPECT_TRUE(error_text(make_error(ErrorCode::kBadNode, "{}", accents)).find("é… (601 bytes)") !=
              std::string::npos);
  EXPECT_NE(error_json(error).find("a\\nsluice: error\\u001b[31m"), std::string::npos);
  EXPECT_NE(error_json(error).find(std::string(1000, 'x')), std::string::npos);
}

TEST(Result, JsonNamesNodesAndListsErrors) {
  const Error one = make_error(ErrorCode::kBadNode, "node 'it's' (Conv): input 'W' is wrong")
                        .with_hint("change it");
  EXPECT_EQ(
      error_json(one),
      R"({"code":"SL2002","message":"node 'it's' (Conv): input 'W' is wrong","hint":"change it",)"
      R"("file":"","node":"it's",)"
      R"("errors":[{"message":"node 'it's' (Conv): input 'W' is wrong","nodes":["it's"]}]})");
  const Error list = make_error(ErrorCode::kUnsupportedOp,
                                "2 of them:\n  A (2 nodes: 'a', 'b', ...)\n  node 'c' (B): no");
  const std::string listed =
      R"x("node":"a","errors":[{"message":"A (2 nodes: 'a', 'b', ...)","nodes":["a","b"]},)x"
      R"x({"message":"node 'c' (B): no","nodes":["c"]}])x";
  EXPECT_NE(error_json(list).find(listed), std::string::npos);
  EXPECT_NE(error_json(make_error(ErrorCode::kIo, "no 'node' here")).find(R"("node":null)"),
            std::string::npos);
  EXPECT_NE(error_json(make_error(ErrorCode::kIo, "node 'open")).find(R"("node":"open")"),
            std::string::npos);
}

}  // namespace
}  // namespace sluice
