#include "common/omfile/pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "common/omfile/bind_part.h"
#include "common/omfile/testing/model_builder.h"
#include "common/omfile/verify_model.h"
#include "common/symbolic/expression.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using testing::ModelBuilder;

// a and b, of 8 and 24 channels, are written into the rows of c, which has 32 of them; y is a copy
// of c.
struct Concat {
  ModelBuilder b;
  uint32_t type_a, type_c, first, second, whole, y;

  Concat() {
    type_a = b.type(DType::kF32, {1, 8, 4, 4});
    type_c = b.type(DType::kF32, {1, 32, 4, 4});
    const uint32_t type_b = b.type(DType::kF32, {1, 24, 4, 4}), nhwc = b.storage(nhwc_map(4));
    const uint32_t x = b.input("x", type_a);
    y = b.output("y", type_c);
    whole = b.arena_value("c", type_c);
    first = b.value("a", type_a, pb::REGION_ARENA, 0);
    second = b.value("b", type_b, pb::REGION_ARENA, 32);
    b.part().set_value_storage(static_cast<int>(whole), nhwc);
    b.set_capacity(first, nhwc, type_c);
    b.set_capacity(second, nhwc, type_c);
    b.piece(first, whole);
    b.piece(second, whole);
    b.stream("main");
    const uint32_t kernel = b.test_kernel("k", 1);
    b.launch("one", 0, kernel, {first}, {x});
    b.launch("two", 0, kernel, {second}, {x});
    b.copy("copy", 0, y, whole);
  }

  std::string fault() const {
    if (auto model = verify_model(b.model); !model) return model.error().message;
    auto part = verify_part(b.model, b.model.parts(0), true);
    return part ? "" : part.error().message;
  }
};

TEST(Pieces, AConcatInRowsIsVerified) {
  const Concat concat;
  EXPECT_EQ(concat.fault(), "");
  EXPECT_EQ(concat.b.model.parts(0).fixed().value_bytes(static_cast<int>(concat.first)),
            15U * 128 + 32);
  EXPECT_EQ(concat.b.model.parts(0).fixed().value_bytes(static_cast<int>(concat.second)),
            15U * 128 + 96);
}

struct PieceFault {
  std::string name, said;
  std::function<void(Concat&)> make;
};

class PiecesFault : public ::testing::TestWithParam<PieceFault> {};

TEST_P(PiecesFault, IsNamed) {
  Concat concat;
  GetParam().make(concat);
  EXPECT_THAT(concat.fault(), HasSubstr(GetParam().said));
}

int index(uint32_t value) { return static_cast<int>(value); }

void set_capacity(Concat& c, uint32_t type) {
  c.b.part().set_value_capacity(index(c.first), type + 1);
}

INSTANTIATE_TEST_SUITE_P(
    All, PiecesFault,
    ::testing::Values(
        PieceFault{"Columns", "describe values differ in length",
                   [](Concat& c) { c.b.part().add_value_capacity(0); }},
        PieceFault{"Capacity", "value 3 ('a') has a capacity of type 9 of 3",
                   [](Concat& c) { set_capacity(c, 9); }},
        PieceFault{"CapacityOfOtherRank", "has a capacity of another dtype or rank",
                   [](Concat& c) { set_capacity(c, c.b.type(DType::kF32, {1, 32, 16})); }},
        PieceFault{"CapacityOfOtherDtype", "has a capacity of another dtype or rank",
                   [](Concat& c) { set_capacity(c, c.b.type(DType::kI32, {1, 32, 4, 4})); }},
        PieceFault{"CapacityWithoutBytes", "has a capacity of another dtype or rank",
                   [](Concat& c) {
                     const uint32_t narrow = c.b.type(DType::kI4, {1, 8, 4, 4});
                     c.b.part().set_value_type(index(c.first), narrow);
                     set_capacity(c, c.b.type(DType::kI4, {1, 32, 4, 4}));
                   }},
        PieceFault{"CapacityNarrower", "value 3 ('a') has 8 elements along dim 1, its capacity 4",
                   [](Concat& c) { set_capacity(c, c.b.type(DType::kF32, {1, 4, 4, 4})); }},
        PieceFault{"CapacityUnknown", "has a capacity without size along dim 1",
                   [](Concat& c) { set_capacity(c, c.b.type(DType::kF32, {1, -1, 4, 4})); }},
        PieceFault{
            "CapacityHuge", "has a capacity of impossibly many elements",
            [](Concat& c) { set_capacity(c, c.b.type(DType::kF32, {1, int64_t{1} << 60, 4, 4})); }},
        PieceFault{"Bytes", "value 3 ('a') has 1948 bytes of storage, its rows end at byte 1952",
                   [](Concat& c) { c.b.part().set_value_bytes(index(c.first), 1948); }},
        PieceFault{"PieceNotAligned", "value 4 ('b') begins at byte 30, not a multiple of 4",
                   [](Concat& c) { c.b.part().set_value_offset(index(c.second), 30); }},
        PieceFault{"PieceColumns", "the columns that describe pieces differ in length",
                   [](Concat& c) { c.b.part().add_piece_of(0); }},
        PieceFault{"PieceOfNothing", "piece 1 is value 4 of value 99, of 5 values",
                   [](Concat& c) { c.b.part().set_piece_of(1, 99); }},
        PieceFault{"NoPiece", "piece 1 is value 99 of value 2, of 5 values",
                   [](Concat& c) { c.b.part().set_piece_value(1, 99); }},
        PieceFault{"PieceOfItself", "piece 0 is value 2 of value 2",
                   [](Concat& c) { c.b.part().set_piece_value(0, c.whole); }},
        PieceFault{"PieceElsewhere",
                   "value 4 lies in another region than value 1, of which it is a piece",
                   [](Concat& c) { c.b.part().set_piece_of(1, c.y); }},
        PieceFault{"PieceOutside", "value 4 at bytes 128 + 2016 leaves value 2 at bytes 0 + 2048",
                   [](Concat& c) {
                     c.b.part().set_value_offset(index(c.second), 128);
                     c.b.part().mutable_memory()->set_arena_bytes(4096);
                   }},
        PieceFault{"CopyOfRows",
                   "task 2 (node 'copy'): operand 1 has rows apart, which only kernels",
                   [](Concat& c) { c.b.part().set_operand(5, c.first); }},
        PieceFault{"HostWithRows", "task 0 (node 'one'): operand 0 has rows apart",
                   [](Concat& c) {
                     c.b.part().set_task_kind(0, pb::TASK_HOST);
                     c.b.part().set_has_host(true);
                     c.b.model.add_segments()->set_kind(pb::SEGMENT_GRAPH);
                   }},
        PieceFault{"AppendOfRows", "task 2 (node 'copy'): operand 1 has rows apart",
                   [](Concat& c) {
                     c.b.part().set_task_kind(2, pb::TASK_APPEND);
                     c.b.part().set_operand(5, c.first);
                   }}),
    [](const auto& info) { return info.param.name; });

// The same with a dim C of input x: a has C channels, b 24, c their sum; in one buffer.
struct SymbolicConcat : Concat {
  SymbolicConcat() {
    pb::SizesDef& sizes = *b.model.mutable_sizes();
    sizes.add_symbols()->set_name("C");
    sizes.mutable_symbols(0)->set_axis(1);
    add_size(ExpressionOp::kSymbol, 0, 0);
    add_size(ExpressionOp::kConstant, 24, 0);
    add_size(ExpressionOp::kAdd, 0, 1);
    add_size(ExpressionOp::kConstant, 4, 0);
    add_size(ExpressionOp::kMul, 0, 3);  // the bytes of a row of a
    set_channels(type_a, 1);
    set_channels(type_c, 3);
    b.model.mutable_root();  // so that the part has inputs and outputs of its own
    *b.part().mutable_inputs() = b.model.inputs();
    *b.part().mutable_outputs() = b.model.outputs();
    pb::SymbolicPart& symbolic = *b.model.mutable_parts(0)->mutable_symbolic();
    for (const uint32_t buffer : {kNone, kNone, 0U, 0U, 0U}) symbolic.add_value_buffer(buffer);
    symbolic.add_buffer_first(0);
    symbolic.add_buffer_last(2);
    for (const uint32_t distance : {0U, 0U, 0U, 0U, 5U}) symbolic.add_value_distance(distance);
    for (const uint32_t value : {first, second}) {
      b.part().set_value_offset(index(value), 0);
      b.part().set_value_bytes(index(value), 0);
    }
  }

  void add_size(ExpressionOp op, int64_t a, int64_t other) {
    b.model.mutable_sizes()->add_expression_op(static_cast<uint32_t>(op));
    b.model.mutable_sizes()->add_expression_a(a);
    b.model.mutable_sizes()->add_expression_b(other);
  }

  void set_channels(uint32_t type, uint32_t expression) {
    pb::TypeDef& def = *b.model.mutable_types(index(type));
    def.set_dims(1, -1);
    for (const uint32_t own : {0U, expression, 0U, 0U}) def.add_dim_expression(own);
  }

  Result<pb::FixedPart> bind(int64_t channels) const {
    const std::vector<int64_t> symbols = {channels};
    SLUICE_ASSIGN(const TypeSizes sizes, TypeSizes::bind(b.model, symbols));
    return bind_part(b.model, 0, sizes);
  }

  static constexpr uint32_t kNone = 0xffffffff;
};

TEST(Pieces, DistancesAndRowsAreBound) {
  const SymbolicConcat concat;
  EXPECT_EQ(concat.fault(), "");
  const auto part = concat.bind(8);
  ASSERT_TRUE(part) << part.error().message;
  EXPECT_EQ(part->value_offset(index(concat.first)), 0U);
  EXPECT_EQ(part->value_offset(index(concat.second)), 32U);
  EXPECT_EQ(part->value_bytes(index(concat.first)), 15U * 128 + 32);
  EXPECT_EQ(part->value_bytes(index(concat.second)), 15U * 128 + 96);
  EXPECT_EQ(part->value_bytes(index(concat.whole)), 2048U);
  EXPECT_EQ(part->memory().arena_bytes(), 2048U);
}

TEST(Pieces, DistancesAreVerified) {
  SymbolicConcat listed;
  pb::SymbolicPart& symbolic = *listed.b.model.mutable_parts(0)->mutable_symbolic();
  symbolic.set_value_distance(4, 6);
  EXPECT_THAT(listed.fault(), HasSubstr("names no expressions"));
  symbolic.set_value_distance(4, 5);
  symbolic.add_value_distance(0);
  EXPECT_THAT(listed.fault(), HasSubstr("the column of distances differs in length"));
  SymbolicConcat odd;
  odd.b.model.mutable_sizes()->set_expression_a(3, 3);
  EXPECT_THAT(odd.bind(7).error().message, HasSubstr("would begin 21 bytes into its buffer"));
  odd.b.model.mutable_sizes()->set_expression_a(3, -4);
  EXPECT_THAT(odd.bind(8).error().message, HasSubstr("would begin -32 bytes into its buffer"));
  odd.b.model.mutable_sizes()->set_expression_a(3, 8);
  EXPECT_THAT(odd.bind(8).error().message, HasSubstr("leaves value 2"));
}

}  // namespace
}  // namespace sluice
