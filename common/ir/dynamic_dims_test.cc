#include "common/ir/dynamic_dims.h"

#include <gtest/gtest.h>

#include "common/ir/module.h"

namespace sluice {
namespace {

struct DynamicDimsTest : testing::Test {
  Module module;
  Graph& graph = module.add_graph("main");

  Dim symbol(const std::string& name, int64_t low, int64_t divisor) {
    Symbol symbol;
    symbol.name = name;
    symbol.low = low;
    symbol.divisor = divisor;
    return module.make_dim(
        module.expressions.symbol_expression(module.expressions.add_symbol(symbol)));
  }
  void add_input(const std::string& name, std::vector<Dim> dims) {
    Type type = Type::fixed_tensor(DType::kF32, {});
    type.dims = std::move(dims);
    graph.add_input(module.intern(type), name);
  }
};

TEST_F(DynamicDimsTest, EachSymbolOnceInTheOrderOfTheInputs) {
  const Dim batch = symbol("batch", 1, 1), height = symbol("H", 10, 16);
  add_input("x", {batch, height});
  add_input("mask", {batch, Dim::fixed(7)});
  EXPECT_EQ(dynamic_dims_hint(module), "--dim batch=SIZE --dim H=SIZE");
}

TEST_F(DynamicDimsTest, OddNamesAreQuotedForTheShell) {
  add_input("x", {symbol("it's", 1, 1)});
  EXPECT_EQ(dynamic_dims_hint(module), "--dim 'it'\\''s=SIZE'");
}

TEST_F(DynamicDimsTest, FixedInputsNeedNothing) {
  add_input("x", {Dim::fixed(3)});
  EXPECT_EQ(dynamic_dims_hint(module), "");
}

}  // namespace
}  // namespace sluice
