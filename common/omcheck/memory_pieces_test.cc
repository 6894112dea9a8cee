// The memory checker on values that lie within each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "common/omcheck/memory_checker.h"
#include "common/omfile/testing/model_builder.h"

namespace sluice {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ModelBuilder;

// Values of an arena of 4096 bytes, made and read by launches on one stream. Lines of a matrix of
// 32 f32 have 128 bytes.
struct Plan {
  Plan() {
    x = b.input("x", b.type(DType::kF32, {16}));
    b.stream("main");
    kernel = b.test_kernel("k", 1);
    b.part().mutable_memory()->set_arena_bytes(4096);
  }

  uint32_t value(const std::string& name, std::vector<int64_t> dims, uint64_t offset) {
    return b.value(name, b.type(DType::kF32, std::move(dims)), pb::REGION_ARENA, offset);
  }
  // A matrix within the columns of a wider one.
  uint32_t columns(const std::string& name, std::vector<int64_t> dims, uint64_t offset,
                   uint32_t of) {
    const uint32_t value = this->value(name, std::move(dims), offset);
    b.set_capacity(value, 0, b.part().value_type(static_cast<int>(of)));
    b.piece(value, of);
    return value;
  }
  uint32_t task(const std::vector<uint32_t>& results, const std::vector<uint32_t>& operands) {
    return b.launch("t" + std::to_string(b.part().task_kind_size()), 0, kernel, results, operands);
  }
  void make(uint32_t result) { task({result}, {x}); }
  void read(uint32_t operand) { task({}, {operand}); }
  void move(uint32_t value, uint64_t offset) {
    b.part().set_value_offset(static_cast<int>(value), offset);
  }
  std::vector<std::string> faults() { return find_memory_faults(b.model, b.part(), 0); }
  uint64_t live() { return measure_memory(b.model, b.part()).live; }

  ModelBuilder b;
  uint32_t x, kernel;
};

// c consists of a and b, one after the other or side by side.
struct Concat : Plan {
  explicit Concat(bool in_rows) {
    whole = value("c", {4, 32}, 0);
    if (in_rows) {
      first = columns("a", {4, 8}, 0, whole);
      second = columns("b", {4, 24}, 32, whole);
    } else {
      first = value("a", {1, 32}, 0);
      second = value("b", {3, 32}, 128);
      b.piece(first, whole);
      b.piece(second, whole);
    }
  }
  void run() {
    make(first);
    make(second);
    read(whole);
    read(second);
  }
  uint32_t whole, first, second;
};

TEST(MemoryPieces, AConcatOfPiecesIsAcceptedAndCountsOnce) {
  for (const bool in_rows : {false, true}) {
    Concat concat(in_rows);
    concat.run();
    EXPECT_THAT(concat.faults(), IsEmpty());
    EXPECT_EQ(concat.live(), 512U);
    EXPECT_EQ(measure_memory(concat.b.model, concat.b.part()).dense_live, 512U);
  }
}

TEST(MemoryPieces, RowsOfNhwc) {
  Plan plan;
  const uint32_t nhwc = plan.b.storage(nhwc_map(4)), type = plan.b.type(DType::kF32, {1, 32, 4, 4});
  const uint32_t whole = plan.b.value("c", type, pb::REGION_ARENA, 0);
  plan.b.part().set_value_storage(static_cast<int>(whole), nhwc);
  const uint32_t first = plan.value("a", {1, 8, 4, 4}, 0),
                 second = plan.value("b", {1, 24, 4, 4}, 32);
  for (const uint32_t piece : {first, second}) {
    plan.b.set_capacity(piece, nhwc, type);
    plan.b.piece(piece, whole);
    plan.make(piece);
  }
  plan.read(whole);
  EXPECT_THAT(plan.faults(), IsEmpty());
  plan.b.part().set_value_storage(static_cast<int>(second), 0);  // now one range
  EXPECT_THAT(plan.faults(), ElementsAre(HasSubstr("value 2 ('a') and value 3 ('b') share bytes")));
}

struct Fault {
  std::string name;
  bool in_rows;
  std::function<void(Concat&)> make;
  std::string said;
};

class MemoryPiecesFault : public ::testing::TestWithParam<Fault> {};

TEST_P(MemoryPiecesFault, IsNamed) {
  Concat concat(GetParam().in_rows);
  GetParam().make(concat);
  if (concat.b.part().task_kind_size() == 0) concat.run();
  EXPECT_THAT(concat.faults(), Contains(HasSubstr(GetParam().said)));
}

INSTANTIATE_TEST_SUITE_P(
    All, MemoryPiecesFault,
    ::testing::Values(
        Fault{"ShiftedBy4", false, [](Concat& c) { c.move(c.first, 4); },
              "value 2 ('a') and value 3 ('b') share bytes of value 1 ('c'), of which both are "
              "pieces"},
        Fault{"RowsShiftedBy4", true, [](Concat& c) { c.move(c.first, 4); },
              "value 2 ('a') and value 3 ('b') share bytes of value 1 ('c'), of which both are "
              "pieces"},
        Fault{"ShiftedByARow", false, [](Concat& c) { c.move(c.second, 256); },
              "value 3 ('b') is a piece of value 1 ('c'), but not within its bytes"},
        Fault{"RowsShiftedByARow", true, [](Concat& c) { c.move(c.first, 128); },
              "value 2 ('a') is a piece of value 1 ('c'), but not within its bytes"},
        Fault{"Outside", false, [](Concat& c) { c.move(c.second, 1024); },
              "value 3 ('b') is a piece of value 1 ('c'), but not within its bytes"},
        Fault{"Gap", true,
              [](Concat& c) {
                c.b.part().mutable_piece_value()->RemoveLast();
                c.b.part().mutable_piece_of()->RemoveLast();
                c.move(c.second, 1024);
              },
              "the pieces of value 1 ('c') fill 128 of its 512 bytes"},
        Fault{"Overlapping", true, [](Concat& c) { c.move(c.second, 28); },
              "value 2 ('a') and value 3 ('b') share bytes"},
        Fault{"PieceOverwritten", true,
              [](Concat& c) {
                c.make(c.first);
                c.make(c.value("z", {16}, 128));
                c.make(c.second);
                c.read(c.whole);
              },
              "task 3 ('t3') reads value 1 ('c'), whose piece value 2 ('a'): its bytes [0, 416) "
              "were overwritten by value 4 ('z')"},
        Fault{"WholeOverwritten", true,
              [](Concat& c) {
                c.make(c.first);
                c.make(c.second);
                c.make(c.value("z", {16}, 448));
                c.read(c.whole);
              },
              "task 3 ('t3') reads value 1 ('c'), whose bytes [0, 512) were overwritten by value 4 "
              "('z')"},
        Fault{"PieceNotMade", true,
              [](Concat& c) {
                c.make(c.first);
                c.read(c.whole);
              },
              "task 1 ('t1') reads value 1 ('c'), whose piece value 3 ('b') no task made before"},
        Fault{"CapacityNarrower", true,
              [](Concat& c) {
                const uint32_t narrow = c.b.type(DType::kF32, {4, 16});
                c.b.part().set_value_capacity(static_cast<int>(c.second), narrow + 1);
              },
              "value 3 ('b') has a capacity narrower than its dim 1"},
        Fault{"CapacityWiderTwice", true,
              [](Concat& c) {
                const uint32_t type = c.b.type(DType::kF32, {2, 2, 8}),
                               wider = c.b.type(DType::kF32, {2, 3, 16});
                c.b.part().set_value_type(static_cast<int>(c.first), type);
                c.b.part().set_value_capacity(static_cast<int>(c.first), wider + 1);
              },
              "value 2 ('a') has rows at unequal distances"},
        Fault{"RowsBeyondItsBytes", true,
              [](Concat& c) { c.b.part().set_value_bytes(static_cast<int>(c.first), 412); },
              "value 2 ('a') ends at byte 412, its rows at byte 416"},
        Fault{"PieceNotAligned", true, [](Concat& c) { c.move(c.second, 30); },
              "value 3 ('b') begins at byte 30, no multiple of 4"},
        Fault{"Cycle", false, [](Concat& c) { c.b.piece(c.whole, c.second); },
              "is a piece of itself"}),
    [](const auto& info) { return info.param.name; });

TEST(MemoryPieces, PiecesHavePiecesAndMayBeViews) {
  Plan plan;
  const uint32_t whole = plan.value("whole", {4, 32}, 0), lines = plan.value("lines", {2, 32}, 0);
  const uint32_t first = plan.columns("first", {2, 8}, 0, lines),
                 second = plan.columns("second", {2, 24}, 32, lines);
  const uint32_t flat = plan.value("flat", {64}, 256), view = plan.value("view", {2, 32}, 256);
  plan.b.piece(lines, whole);
  plan.b.piece(view, whole);
  plan.make(second);
  plan.make(first);
  plan.make(flat);
  plan.b.alias(view, 2);
  const uint32_t flat_whole = plan.value("flat_whole", {128}, 0);
  plan.b.alias(flat_whole, 2);
  plan.read(whole);
  plan.read(flat_whole);
  EXPECT_THAT(plan.faults(), IsEmpty());
  EXPECT_EQ(plan.live(), 512U);
  plan.make(plan.value("other", {16}, 64));
  plan.read(view);
  EXPECT_THAT(plan.faults(), IsEmpty());
  plan.read(flat_whole);
  EXPECT_THAT(plan.faults(),
              ElementsAre(HasSubstr("reads value 7 ('flat_whole'), whose bytes [0, 512) were "
                                    "overwritten by value 8 ('other')")));
}

TEST(MemoryPieces, ResultsOfASplitAreIntactByThemselves) {
  Plan plan;
  const uint32_t whole = plan.value("whole", {4, 32}, 0);
  const uint32_t first = plan.columns("first", {4, 8}, 0, whole),
                 second = plan.columns("second", {4, 24}, 32, whole);
  const uint32_t relu = plan.value("relu", {4, 8}, 0);
  plan.b.set_capacity(relu, 0, plan.b.part().value_type(static_cast<int>(whole)));
  plan.make(whole);
  plan.task({relu}, {first});
  plan.read(second);
  plan.read(relu);
  EXPECT_THAT(plan.faults(), IsEmpty());
  EXPECT_EQ(plan.live(), 512U);
  plan.read(first);
  plan.read(whole);
  EXPECT_THAT(plan.faults(),
              ElementsAre(HasSubstr("reads value 2 ('first'), whose bytes [0, 416) were "
                                    "overwritten by value 4 ('relu')"),
                          HasSubstr("reads value 1 ('whole'), whose bytes [0, 512) were "
                                    "overwritten by value 4 ('relu')")));
  plan.move(second, 64);
  EXPECT_THAT(plan.faults(), ElementsAre(HasSubstr("value 3 ('second') is a piece of value 1")));
}

TEST(MemoryPieces, AViewMayBeSplit) {
  Plan plan;
  const uint32_t result = plan.value("result", {128}, 0), view = plan.value("view", {4, 32}, 0);
  const uint32_t top = plan.value("top", {2, 32}, 0), bottom = plan.value("bottom", {2, 32}, 256);
  for (const uint32_t piece : {top, bottom}) plan.b.piece(piece, view);
  plan.make(result);
  for (const uint32_t value : {view, top, bottom}) plan.b.alias(value, 0);
  plan.task({plan.value("over", {2, 32}, 0)}, {top});
  plan.read(bottom);
  EXPECT_THAT(plan.faults(), IsEmpty());
  EXPECT_EQ(plan.live(), 512U);
  plan.read(view);
  EXPECT_THAT(plan.faults(),
              ElementsAre(HasSubstr("reads value 2 ('view'), whose bytes [0, 512)")));
}

TEST(MemoryPieces, AConcatMayBeSplit) {
  Concat concat(true);
  const uint32_t top = concat.value("top", {1, 32}, 0),
                 bottom = concat.value("bottom", {3, 32}, 128);
  concat.b.piece(top, concat.whole);
  concat.b.piece(bottom, concat.whole);
  concat.make(concat.first);
  concat.make(concat.second);
  concat.b.alias(concat.whole, 1);
  concat.b.alias(top, 1);
  concat.read(top);
  concat.read(bottom);
  EXPECT_THAT(concat.faults(), IsEmpty());
}

TEST(MemoryPieces, InputsMayBeSplit) {
  Plan plan;
  const uint32_t half =
      plan.b.value("half", plan.b.type(DType::kF32, {8}), pb::REGION_FIRST_BINDING, 32);
  plan.b.piece(half, plan.x);
  plan.read(half);
  EXPECT_THAT(plan.faults(), IsEmpty());
  plan.move(half, 36);
  EXPECT_THAT(plan.faults(), Contains(HasSubstr("value 1 ('half') at bytes 36 + 32 leaves")));
}

TEST(MemoryPieces, ResultsMayLieBetweenTheRowsOfOperands) {
  for (const bool are_apart : {true, false}) {
    Plan plan;
    const uint32_t wide = plan.b.type(DType::kF32, {4, 32});
    const uint32_t first = plan.value("first", {4, 16}, 0),
                   second = plan.value("second", {4, 16}, 64);
    for (const uint32_t value : {first, second}) plan.b.set_capacity(value, 0, wide);
    if (!are_apart) plan.move(second, 0);
    plan.make(first);
    plan.task({second}, {first});  // a launch may overwrite it exactly
    EXPECT_THAT(plan.faults(), IsEmpty());
    plan.read(first);
    EXPECT_EQ(plan.faults().empty(), are_apart);
    plan.task({plan.value("range", {16}, 128)}, {second});
    EXPECT_EQ(plan.faults().size(), are_apart ? 0U : 2U);
  }
}

TEST(MemoryPieces, SeveralValuesMayFillAnOutput) {
  Plan plan;
  const uint32_t output = plan.b.output("y", plan.b.type(DType::kF32, {32}));
  const uint32_t region = plan.b.part().value_region(static_cast<int>(output));
  const uint32_t half = plan.b.type(DType::kF32, {16});
  const uint32_t first = plan.b.value("first", half, region, 0),
                 second = plan.b.value("second", half, region, 64);
  plan.make(first);
  EXPECT_THAT(plan.faults(), ElementsAre("output 'y' is not written in full"));
  plan.make(second);
  EXPECT_THAT(plan.faults(), IsEmpty());
  plan.b.piece(first, output);
  plan.b.piece(second, output);
  EXPECT_THAT(plan.faults(), IsEmpty());
}

TEST(MemoryPieces, AViewOfAHalfDoesNotFillAnOutput) {
  Plan plan;
  const uint32_t output = plan.b.output("y", plan.b.type(DType::kF32, {32}));
  const uint32_t region = plan.b.part().value_region(static_cast<int>(output));
  const uint32_t half = plan.b.type(DType::kF32, {16});
  plan.make(plan.b.value("first", half, region, 0));
  const uint32_t view = plan.b.value("view", half, region, 0);
  plan.b.alias(view, 0);
  EXPECT_THAT(plan.faults(), ElementsAre("output 'y' is not written in full"));
  plan.move(view, 64);
  EXPECT_THAT(plan.faults(), Contains("value 3 ('view') shows no result of task 0 ('t0')"));
}

TEST(MemoryPieces, AViewBeginsWithItsResult) {
  Plan plan;
  plan.make(plan.value("first", {32}, 0));
  plan.b.alias(plan.value("view", {16}, 64), 0);
  EXPECT_THAT(plan.faults(), ElementsAre("value 2 ('view') shows no result of task 0 ('t0')"));
}

// y is the Concat of what is written over one result of a Split and of the other result.
TEST(MemoryPieces, AnOutputMayKeepAResultOfASplit) {
  Plan plan;
  const uint32_t type = plan.b.type(DType::kF32, {4, 32});
  const uint32_t output = plan.b.output("y", type);
  const uint32_t region = plan.b.part().value_region(static_cast<int>(output));
  const uint32_t whole = plan.b.value("whole", type, region, 0);
  const auto columns = [&](const std::string& name, int64_t columns, uint64_t offset) {
    const uint32_t value =
        plan.b.value(name, plan.b.type(DType::kF32, {4, columns}), region, offset);
    plan.b.set_capacity(value, 0, type);
    return value;
  };
  const uint32_t first = columns("first", 8, 0), second = columns("second", 24, 32),
                 over = columns("over", 8, 0);
  for (const uint32_t slice : {first, second}) plan.b.piece(slice, whole);
  for (const uint32_t piece : {over, second}) plan.b.piece(piece, output);
  plan.make(whole);
  plan.task({over}, {first});
  EXPECT_THAT(plan.faults(), IsEmpty());
  plan.b.part().mutable_piece_of()->Set(2, whole);  // `over` is a piece of another value now
  EXPECT_THAT(plan.faults(),
              Contains(HasSubstr("the pieces of value 1 ('y') fill 384 of its 512")));
}

// 100,000 tasks: concats of 50 pieces in 256 Ki rows, one after the other in one place.
TEST(MemoryPieces, ManyTasksAndRows) {
  Plan plan;
  constexpr int64_t kRows = 1 << 18;
  const uint32_t type = plan.b.type(DType::kF32, {kRows, 50}),
                 column = plan.b.type(DType::kF32, {kRows, 1});
  plan.b.part().mutable_memory()->set_arena_bytes(static_cast<uint64_t>(kRows) * 200);
  for (int concat = 0; concat < 1000; ++concat) {
    const uint32_t whole = plan.b.value("c", type, pb::REGION_ARENA, 0);
    for (uint64_t i = 0; i < 50; ++i) {
      const uint32_t piece = plan.b.value("p", column, pb::REGION_ARENA, 4 * i);
      plan.b.set_capacity(piece, 0, type);
      plan.b.piece(piece, whole);
      plan.make(piece);
    }
    for (int reader = 0; reader < 50; ++reader) plan.read(whole);
  }
  EXPECT_THAT(plan.faults(), IsEmpty());
  EXPECT_EQ(plan.live(), static_cast<uint64_t>(kRows) * 200);
}

}  // namespace
}  // namespace sluice
