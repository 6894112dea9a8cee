#include "common/omcheck/memory_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/omfile/testing/model_builder.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ModelBuilder;

// The chain x -> a -> b -> y on one stream; tests move the places of a and b.
struct Chain {
  Chain() {
    const uint32_t type = b.type(DType::kF32, {32});
    x = b.input("x", type);
    y = b.output("y", type);
    first = b.arena_value("a", type);
    second = b.arena_value("b", type);
    kernel = b.test_kernel("k", 1, 96);
    stream = b.stream("main");
  }

  void run() {
    b.launch("one", stream, kernel, {first}, {x});
    b.launch("two", stream, kernel, {second}, {first});
    b.launch("three", stream, kernel, {y}, {second, first});
  }

  std::vector<std::string> faults() { return find_memory_faults(b.model, b.part(), 0); }
  void move(uint32_t value, uint64_t offset) {
    b.part().set_value_offset(static_cast<int>(value), offset);
  }

  ModelBuilder b;
  uint32_t x, y, first, second, kernel, stream;
};

TEST(MemoryChecker, AcceptsAPlanAndMeasuresIt) {
  Chain chain;
  chain.run();
  EXPECT_THAT(chain.faults(), IsEmpty());
  const MemoryFigures figures = measure_memory(chain.b.model, chain.b.part());
  EXPECT_EQ(figures.arena, 256u);
  EXPECT_EQ(figures.live, 256u);
  EXPECT_EQ(figures.dense_live, 256u);
}

TEST(MemoryChecker, FindsAReadOfBytesThatAnotherValueOverwrote) {
  Chain chain;
  chain.move(chain.second, 0);  // over `a`, which task three still reads
  chain.run();
  EXPECT_THAT(chain.faults(), ElementsAre("task 2 ('three') reads value 2 ('a'), whose bytes [0, "
                                          "128) were overwritten by value 3 ('b')"));
}

TEST(MemoryChecker, FindsAPartlyOverwrittenOperand) {
  Chain chain;
  chain.move(chain.second, 64);
  chain.run();
  EXPECT_THAT(
      chain.faults(),
      ElementsAre(
          HasSubstr("task 1 ('two') writes value 3 ('b') over value 2 ('a'), which it reads"),
          HasSubstr(
              "reads value 2 ('a'), whose bytes [0, 128) were overwritten by value 3 ('b')")));
}

TEST(MemoryChecker, FindsPlacesOutsideTheRegionOrNotAligned) {
  Chain chain;
  chain.move(chain.first, 192);
  chain.move(chain.second, 32);
  EXPECT_THAT(chain.faults(),
              ElementsAre("value 2 ('a') at bytes 192 + 128 leaves its region of 256",
                          "value 3 ('b') begins at byte 32, no multiple of 64"));
}

TEST(MemoryChecker, FindsWritesToInputsAndValuesMadeTwice) {
  Chain chain;
  chain.b.launch("one", chain.stream, chain.kernel, {chain.first}, {chain.x});
  chain.b.launch("two", chain.stream, chain.kernel, {chain.first}, {});
  chain.b.launch("three", chain.stream, chain.kernel, {chain.x}, {chain.second});
  EXPECT_THAT(chain.faults(),
              ElementsAre("task 1 ('two') makes value 2 ('a') again",
                          "task 2 ('three') reads value 3 ('b') before any task made it",
                          "task 2 ('three') writes value 0 ('x'), which is an input or a constant",
                          "output 'y' is not written in full"));
}

TEST(MemoryChecker, ALaunchMayOverwriteAnOperandExactlyAndACopyMayNot) {
  for (const bool launch : {true, false}) {
    Chain chain;
    chain.move(chain.second, 0);
    chain.b.launch("one", chain.stream, chain.kernel, {chain.first}, {chain.x});
    if (launch) {
      chain.b.launch("two", chain.stream, chain.kernel, {chain.second}, {chain.first});
    } else {
      chain.b.copy("two", chain.stream, chain.second, chain.first);
    }
    chain.b.copy("three", chain.stream, chain.y, chain.second);
    if (launch) {
      EXPECT_THAT(chain.faults(), IsEmpty());
      EXPECT_EQ(measure_memory(chain.b.model, chain.b.part()).live, 128u);  // counted once
    } else {
      EXPECT_THAT(
          chain.faults(),
          ElementsAre("task 1 ('two') writes value 3 ('b') over value 2 ('a'), which it reads"));
    }
  }
}

TEST(MemoryChecker, AViewIsReadAsTheResultItShows) {
  Chain chain;
  const uint32_t view = chain.b.value("v", chain.b.type(DType::kF32, {4, 8}), pb::REGION_ARENA, 0);
  const uint32_t task = chain.b.launch("one", chain.stream, chain.kernel, {chain.first}, {chain.x});
  chain.b.launch("two", chain.stream, chain.kernel, {chain.y}, {view});
  EXPECT_THAT(chain.faults(),
              ElementsAre(HasSubstr("reads value 4 ('v') before any task made it")));
  chain.b.alias(view, task);
  EXPECT_THAT(chain.faults(), IsEmpty());
  EXPECT_EQ(measure_memory(chain.b.model, chain.b.part()).live, 128u);
  chain.move(view, 128);
  EXPECT_THAT(chain.faults(),
              ::testing::Contains("value 4 ('v') shows no result of task 0 ('one')"));
}

TEST(MemoryChecker, CountsRoundedStorageAndDenseBytesApart) {
  Chain chain;
  const uint32_t small = chain.b.arena_value("small", chain.b.type(DType::kF32, {1}));
  chain.b.part().set_value_bytes(static_cast<int>(small), 100);
  chain.b.part().mutable_memory()->set_arena_bytes(384);
  chain.b.launch("one", chain.stream, chain.kernel, {small}, {chain.x});
  chain.b.launch("two", chain.stream, chain.kernel, {chain.y}, {small});
  EXPECT_THAT(chain.faults(), IsEmpty());
  const MemoryFigures figures = measure_memory(chain.b.model, chain.b.part());
  EXPECT_EQ(figures.live, 128u);
  EXPECT_EQ(figures.dense_live, 64u);
}

}  // namespace
}  // namespace sluice
