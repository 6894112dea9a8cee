#include "runtime/executor/appended_state.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace sluice {
namespace {

// Returns the type [batch, 5, 3] of floats: capacity for five along axis 1.
pb::TypeDef capacity_of_five() {
  pb::TypeDef type;
  type.set_dtype(static_cast<uint32_t>(DType::kF32));
  for (const int64_t dim : {-1, 5, 3}) type.add_dims(dim);
  return type;
}

Tensor counted(std::vector<int64_t> dims) {
  Tensor tensor = make_tensor(DType::kF32, std::move(dims));
  std::iota(tensor.as<float>().begin(), tensor.as<float>().end(), 1.0F);
  return tensor;
}

HostTensor seen(const Tensor& tensor) { return {tensor.dtype, tensor.dims, tensor.bytes, nullptr}; }

float at(const AppendedState& state, size_t batch, size_t row, size_t column) {
  return reinterpret_cast<const float*>(state.memory().data())[(batch * 5 + row) * 3 + column];
}

void write(const AppendedState& state, size_t batch, size_t row, size_t column, float value) {
  reinterpret_cast<float*>(state.memory().data())[(batch * 5 + row) * 3 + column] = value;
}

TEST(AppendedState, HoldsRowsAtTheDistanceOfItsCapacity) {
  const pb::TypeDef storage = capacity_of_five();
  AppendedState state(storage);
  const Tensor given = counted({2, 2, 3});
  ASSERT_TRUE(state.load(seen(given), "past"));
  EXPECT_EQ(state.memory().size(), 2 * 5 * 3 * sizeof(float));
  EXPECT_EQ(at(state, 0, 1, 2), 6.0F);
  EXPECT_EQ(at(state, 1, 0, 0), 7.0F);
  state.keep(given.dims);
  EXPECT_EQ(state.dense(given.dims).bytes, given.bytes);
}

TEST(AppendedState, GoesOnWhereItLies) {
  const pb::TypeDef storage = capacity_of_five();
  AppendedState state(storage);
  const std::vector<int64_t> none{2, 0, 3};
  ASSERT_TRUE(state.begin(none, "past"));
  const std::byte* memory = state.memory().data();
  for (int64_t rows = 1; rows <= 5; ++rows) {
    write(state, 1, static_cast<size_t>(rows - 1), 2, static_cast<float>(rows));
    state.keep(std::vector<int64_t>{2, rows, 3});
    state.go_on();
    EXPECT_EQ(state.memory().data(), memory);  // nothing was copied
    EXPECT_EQ(state.extents()[1], rows);
  }
  EXPECT_EQ(state.dense(state.extents()).as<float>()[(5 + 3) * 3 + 2], 4.0F);
}

TEST(AppendedState, WhatIsNotKeptDoesNotCount) {
  const pb::TypeDef storage = capacity_of_five();
  AppendedState state(storage);
  const Tensor first = counted({1, 2, 3}), second = counted({1, 4, 3});
  ASSERT_TRUE(state.load(seen(first), "past"));
  state.keep(first.dims);
  state.go_on();
  write(state, 0, 2, 0, 99.0F);                   // an execution that fails
  ASSERT_TRUE(state.load(seen(second), "past"));  // and one that begins with something else
  state.go_on();
  EXPECT_EQ(state.extents(), first.dims);
  EXPECT_EQ(state.dense(first.dims).bytes, first.bytes);
}

TEST(AppendedState, IsRewoundWithoutACopy) {
  const pb::TypeDef storage = capacity_of_five();
  AppendedState state(storage);
  const Tensor first = counted({1, 2, 3});
  ASSERT_TRUE(state.load(seen(first), "past"));
  const std::byte* memory = state.memory().data();
  state.keep(std::vector<int64_t>{1, 3, 3});
  state.rewind();
  state.go_on();
  EXPECT_EQ(state.memory().data(), memory);
  EXPECT_EQ(state.extents(), first.dims);
  EXPECT_EQ(at(state, 0, 1, 2), 6.0F);
}

TEST(AppendedState, IsReadAfterItWasForgotten) {
  const pb::TypeDef storage = capacity_of_five();
  AppendedState state(storage);
  const Tensor first = counted({1, 2, 3});
  ASSERT_TRUE(state.load(seen(first), "past"));
  state.keep(first.dims);
  state.forget();
  EXPECT_EQ(state.dense(first.dims).bytes, first.bytes);
}

TEST(AppendedState, BeginsWithZerosWhateverWasThere) {
  const pb::TypeDef storage = capacity_of_five();
  AppendedState state(storage);
  ASSERT_TRUE(state.load(seen(counted({2, 3, 3})), "past"));
  state.keep(std::vector<int64_t>{2, 3, 3});
  state.forget();
  const std::vector<int64_t> dims{2, 2, 3};
  ASSERT_TRUE(state.begin(dims, "past"));
  state.keep(dims);
  EXPECT_EQ(state.dense(dims).bytes, make_tensor(DType::kF32, dims).bytes);
  EXPECT_EQ(at(state, 1, 1, 2), 0.0F);
}

TEST(AppendedState, RefusesMoreThanItsCapacity) {
  const pb::TypeDef storage = capacity_of_five();
  AppendedState state(storage);
  const auto refused = state.load(seen(counted({1, 6, 3})), "past");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBadBinding);
  EXPECT_EQ(refused.error().message,
            "state 'past' of 1x6x3 is larger than the model was compiled for: 1x5x3");
  const auto endless = state.begin(std::vector<int64_t>{int64_t{1} << 60, 0, 3}, "past");
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code, ErrorCode::kLimit);
}

}  // namespace
}  // namespace sluice
