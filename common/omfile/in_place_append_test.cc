#include "common/omfile/in_place_append.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "common/omfile/testing/model_builder.h"
#include "common/omfile/verify_model.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using testing::ModelBuilder;

// Appends two new rows to one row, in memory for five; then makes a dense copy of the three.
struct Fixture {
  ModelBuilder b;
  uint32_t past, fresh, appended, dense;

  Fixture() {
    const uint32_t past_type = b.type(DType::kF32, {2, 1, 3}),
                   fresh_type = b.type(DType::kF32, {2, 2, 3});
    const uint32_t appended_type = b.type(DType::kF32, {2, 3, 3}),
                   capacity = b.type(DType::kF32, {2, 5, 3});
    past = b.input("past", past_type);
    fresh = b.input("fresh", fresh_type);
    appended = b.output("grown", appended_type);
    dense = b.output("dense", appended_type);
    b.stream("main");
    b.task(pb::TASK_APPEND, "append", 0, 1, {appended}, {past, fresh});
    b.copy("copy", 0, dense, appended);
    b.model.mutable_root();
    *b.part().mutable_inputs() = b.model.inputs();
    *b.part().mutable_outputs() = b.model.outputs();
    pb::StateDef& state = *b.model.add_states();
    state.set_storage(capacity + 1);
    b.part().mutable_inputs(0)->set_state(1);
    b.part().mutable_outputs(0)->set_state(1);
    for (const uint32_t value : {past, appended})
      b.part().set_value_bytes(static_cast<int>(value), 2 * 5 * 3 * 4);
  }

  std::string fault() const {
    if (auto model = verify_model(b.model); !model) return model.error().message;
    auto part = verify_fixed_part(b.model, b.model.parts(0).fixed(), TypeSizes(b.model), false);
    return part ? "" : part.error().message;
  }
};

TEST(InPlaceAppend, IsVerified) { EXPECT_EQ(Fixture().fault(), ""); }

struct AppendFault {
  std::string name, said;
  std::function<void(Fixture&)> make;
};

class InPlaceAppendFault : public ::testing::TestWithParam<AppendFault> {};

TEST_P(InPlaceAppendFault, IsNamed) {
  Fixture fixture;
  GetParam().make(fixture);
  EXPECT_THAT(fixture.fault(), HasSubstr(GetParam().said));
}

void set_dims(Fixture& f, uint32_t type, std::initializer_list<int64_t> dims) {
  f.b.model.mutable_types(static_cast<int>(type))->mutable_dims()->Assign(dims.begin(), dims.end());
}

INSTANTIATE_TEST_SUITE_P(
    All, InPlaceAppendFault,
    ::testing::Values(AppendFault{"StorageMissing", "has a storage of another type",
                                  [](Fixture& f) { f.b.model.mutable_states(0)->set_storage(99); }},
                      AppendFault{"StorageOfOtherDtype", "has a storage of another type",
                                  [](Fixture& f) { f.b.model.mutable_types(3)->set_dtype(7); }},
                      AppendFault{"StorageOfOtherRank", "has a storage of another type",
                                  [](Fixture& f) { set_dims(f, 3, {2, 15}); }},
                      AppendFault{"StorageLargerTwice", "has a storage of another type",
                                  [](Fixture& f) { set_dims(f, 3, {4, 5, 3}); }},
                      AppendFault{"StorageTooSmall", "leaves its region",
                                  [](Fixture& f) { set_dims(f, 3, {2, 2, 3}); }},
                      AppendFault{"BindingOfNoState", "is state 2, which is not written in place",
                                  [](Fixture& f) { f.b.part().mutable_inputs(0)->set_state(2); }},
                      AppendFault{"ValueTooLarge", "does not fit the memory of its state",
                                  [](Fixture& f) {
                                    f.b.part().set_value_type(static_cast<int>(f.past),
                                                              f.b.type(DType::kF32, {2, 6, 2}));
                                  }},
                      AppendFault{"ValueOfOtherOffset", "does not fit the memory of its state",
                                  [](Fixture& f) {
                                    f.b.part().set_value_offset(static_cast<int>(f.past), 64);
                                    f.b.part().set_value_bytes(static_cast<int>(f.past), 24);
                                  }},
                      AppendFault{"AppendsToNoState", "it appends to what is no state",
                                  [](Fixture& f) {
                                    f.b.part().mutable_inputs(0)->set_state(0);
                                    f.b.part().set_value_bytes(static_cast<int>(f.past), 24);
                                  }},
                      AppendFault{"AppendsNothing", "it appends nothing",
                                  [](Fixture& f) {
                                    f.b.part().clear_operand();
                                    for (const uint32_t value :
                                         {f.appended, f.past, f.dense, f.appended})
                                      f.b.part().add_operand(value);
                                    f.b.part().set_task_operand_end(0, 2);
                                    f.b.part().set_task_operand_end(1, 4);
                                  }},
                      AppendFault{"AppendsAlongNoAxis", "it appends along axis 3",
                                  [](Fixture& f) { f.b.part().set_task_target(0, 3); }},
                      AppendFault{"AppendsAlongAnotherAxis", "it appends another shape",
                                  [](Fixture& f) { f.b.part().set_task_target(0, 2); }},
                      AppendFault{"AppendsTooLittle", "what it appends does not fill its result",
                                  [](Fixture& f) {
                                    set_dims(f, 1, {2, 1, 3});
                                    f.b.part().set_value_bytes(static_cast<int>(f.fresh), 24);
                                  }},
                      AppendFault{"AppendsAnotherDtype", "it appends another dtype",
                                  [](Fixture& f) { f.b.model.mutable_types(1)->set_dtype(6); }},
                      AppendFault{"CopiesAnotherShape", "it copies a value to one of another shape",
                                  [](Fixture& f) {
                                    f.b.part().set_value_type(static_cast<int>(f.dense),
                                                              f.b.type(DType::kF32, {2, 9}));
                                  }}),
    [](const auto& info) { return info.param.name; });

TEST(InPlaceAppend, CopiesRowsBetweenCapacities) {
  std::vector<float> from(2 * 5 * 3), to(2 * 4 * 3, -1.0F);
  std::iota(from.begin(), from.end(), 0.0F);
  const std::vector<int64_t> extents{2, 2, 3}, from_capacity{2, 5, 3}, to_capacity{2, 4, 3};
  strided_copy(extents, from_capacity, to_capacity, 1, 1, sizeof(float))
      .run(reinterpret_cast<const std::byte*>(from.data()),
           reinterpret_cast<std::byte*>(to.data()));
  EXPECT_EQ(to, (std::vector<float>{-1, -1, -1, 0,  1,  2,  3,  4,  5,  -1, -1, -1,
                                    -1, -1, -1, 15, 16, 17, 18, 19, 20, -1, -1, -1}));
}

}  // namespace
}  // namespace sluice
