#include "common/loop/interpreter.h"

#include <gmock/gmock.h>

#include "common/loop/text.h"
#include "common/loop/verify.h"

namespace sluice::loop {
namespace {

using testing::ElementsAre;

// Runs loops on memories of one type.
template <typename... Ts>
Result<void> run(const std::string& text, const std::vector<int64_t>& sizes,
                 std::vector<Ts>&... memories) {
  auto graph = parse_loops("loops 1\n" + text, "t");
  if (!graph) return std::move(graph).error();
  SLUICE_TRY(verify(*graph));
  std::byte* operands[] = {reinterpret_cast<std::byte*>(memories.data())...};
  return interpret(*graph, sizes, operands);
}

std::string message(const Result<void>& result) { return result ? "done" : result.error().message; }

TEST(InterpreterTest, AnAccumulatorIsReadBeforeItsUpdate) {
  std::vector<int32_t> y(4), x = {1, 2, 3, 4}, last(1);
  EXPECT_EQ(message(run(R"(buffer y: i32[4] written
buffer last: i32[1] written
buffer x: i32[4]
nest {
  sweep for i < 4 {
    %0: i32 = constant 10
    %1: i32 = load x[i]
    %2: i32 = value $0
    $0: i32 = sum of %1 from %0
    store y[i] = %2
  }
  sweep {
    %3: i32 = value $0
    store last[0] = %3
  }
}
)",
                        {4, 1, 4}, y, last, x)),
            "done");
  EXPECT_THAT(y, ElementsAre(10, 11, 13, 16));
  EXPECT_THAT(last, ElementsAre(20));
}

TEST(InterpreterTest, CarriesTakeTheirNextValuesAtOnce) {
  std::vector<int64_t> y(6);
  EXPECT_EQ(message(run(R"(buffer y: i64[6] written
nest {
  sweep for i < 6 {
    %0: i64 = constant 0
    %1: i64 = constant 1
    %2: i64 = value $0
    %3: i64 = value $1
    %4: i64 = add %2, %3
    $0: i64 = carry of %3 from %0
    $1: i64 = carry of %4 from %1
    store y[i] = %2
  }
}
)",
                        {6}, y)),
            "done");
  EXPECT_THAT(y, ElementsAre(0, 1, 1, 2, 3, 5));
}

TEST(InterpreterTest, StoragesAndRowLocalBuffers) {
  std::vector<float> y(2 * 2 * 4, -1), x = {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15};
  EXPECT_EQ(message(run(R"(buffer y: f32[2, 6] stored [1 by 4, 0, 1 mod 4] written
buffer x: f32[2, 6]
buffer t: f32[6] local
nest for n < 2 {
  sweep for i < 6 {
    %0: f32 = load x[n, i]
    store t[5 - i] = %0
  }
  sweep for k < 6 {
    %1: f32 = load t[k]
    store y[n, k] = %1
  }
}
)",
                        {2, 6, 2, 6}, y, x)),
            "done");
  EXPECT_THAT(y, ElementsAre(5, 4, 3, 2, 15, 14, 13, 12, 1, 0, -1, -1, 11, 10, -1, -1));
}

constexpr char kGather[] = R"(size n = dim 2 in [0, *] nominal 4
buffer y: f32[2] written
buffer at: i64[2]
buffer x: f32[n]
nest for i < 2 {
  sweep {
    %0: i64 = load at[i]
    %1: i64 = expression n
    %2: i64 as v in [0, *] = index %0, %1
    %3: f32 = load x[v]
    store y[i] = %3
  }
}
)";

TEST(InterpreterTest, IndicesAreChecked) {
  std::vector<float> y(2), x = {5, 6, 7};
  std::vector<int64_t> at = {2, -3};
  EXPECT_EQ(message(run(kGather, {2, 2, 3}, y, at, x)), "done");
  EXPECT_THAT(y, ElementsAre(7, 5));
  at = {0, 3};
  auto result = run(kGather, {2, 2, 3}, y, at, x);
  EXPECT_EQ(message(result), "index 3 of an axis with 3 elements");
  EXPECT_EQ(result.error().code, ErrorCode::kBadValue);
  at = {0, -4};
  EXPECT_EQ(message(run(kGather, {2, 2, 3}, y, at, x)), "index -4 of an axis with 3 elements");
  EXPECT_EQ(message(run(kGather, {2, 2, 0}, y, at, x)), "index 0 of an axis with 0 elements");
}

TEST(InterpreterTest, WhatDoesNotFitIsRefused) {
  std::vector<float> y(2), x = {5, 6, 7};
  std::vector<int64_t> at = {2, -3};
  EXPECT_EQ(message(run(kGather, {2, 3, 3}, y, at, x)), "dim 1 of the operands is 3, not 2");
  EXPECT_EQ(message(run(kGather, {2, 2}, y, at, x)), "a size is dim 2 of 2");
  EXPECT_EQ(message(run(kGather, {2, 2, 3}, y, at)), "there are only 2 operands");
  EXPECT_EQ(message(run(kGather, {2, 2, 3, 3}, y, at, x, x)),
            "3 operands have 3 dims, given are 4 with 4");
  EXPECT_EQ(message(run("buffer y: f32[2] written\nnest for i < 3 { sweep { %0: f32 = constant 1 "
                        "store y[i] = %0 } }",
                        {2}, y)),
            "nest 0: sweep 0: store 0: index i is from 0 to 2, the dim is 2");
  EXPECT_EQ(message(run("size n = dim 0 in [0, 8] nominal 2\nbuffer y: f32[n] written\n"
                        "nest for i < n + 1 { sweep { %0: f32 = constant 1 store y[i] = %0 } }",
                        {2}, y)),
            "buffer 0: index 2 of dim 0, which is 2");
}

TEST(InterpreterTest, DivisionsByZeroAreFaults) {
  std::vector<int8_t> y(1), x = {0};
  EXPECT_EQ(message(run(R"(buffer y: i8[1] written
buffer x: i8[1]
nest { sweep {
  %0: i8 = load x[0]
  %1: i8 = constant 7
  %2: i8 = div %1, %0
  store y[0] = %2
} }
)",
                        {1, 1}, y, x)),
            "an integer is divided by zero");
}

}  // namespace
}  // namespace sluice::loop
