#include <gtest/gtest.h>

#include "stages/optimize/passes/passes.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

TEST(FoldRequantization, IntegersAreMoved) {
  expect_rewrite(fold_requantization,
                 R"(graph @main(%x: u8[1, 2, 4, 4]) -> (%y, %z) {
  %s = constant f32[] [0.5]
  %t = constant f32[1] [0.5]
  %zero = constant u8[] [7]
  %0: f32[1, 2, 4, 4] = DequantizeLinear(%x, %s, %zero) from "d"
  %1: f32[1, 2, 2, 2] = MaxPool(%0) {kernel_shape = [2, 2], strides = [2, 2]} from "pool"
  %2: u8[1, 2, 2, 2] = QuantizeLinear(%1, %t, %zero) from "q"
  %3: f32[1, 2, 2, 2] = DequantizeLinear(%2, %s, %zero)
  %4: f32[1, 2, 2, 2] = Transpose(%3) {perm = [0, 2, 3, 1]}
  %y: u8[1, 2, 2, 2] = QuantizeLinear(%4, %s, %zero)
  %z: f32[1, 2, 4, 4] = Neg(%0)
}
)",
                 R"(graph @main(%x: u8[1, 2, 4, 4]) -> (%y, %z) {
  %s = constant f32[] [0.5]
  %zero = constant u8[] [7]
  %0: f32[1, 2, 4, 4] = DequantizeLinear(%x, %s, %zero) from "d"
  %1: u8[1, 2, 2, 2] = MaxPool(%x) {kernel_shape = [2, 2], strides = [2, 2]} from "d", "pool", "q"
  %y: u8[1, 2, 2, 2] = Transpose(%1) {perm = [0, 2, 3, 1]}
  %z: f32[1, 2, 4, 4] = Neg(%0)
}
)");
}

TEST(FoldRequantization, LeavesOtherScalesReadersAndOps) {
  const auto graph = [](const char* scale, const char* op, const char* outputs) {
    return fmt::format(R"(graph @main(%x: u8[2, 4]) -> ({}) {{
  %s = constant f32[] [0.5]
  %t = constant f32[] [{}]
  %0: f32[2, 4] = DequantizeLinear(%x, %s)
  %1: f32[{}] = {}
  %y: u8[{}] = QuantizeLinear(%1, %t)
}}
)",
                       outputs, scale, op[0] == 'T' ? "4, 2" : "2, 4", op,
                       op[0] == 'T' ? "4, 2" : "2, 4");
  };
  expect_unchanged(fold_requantization, graph("0.25", "Transpose(%0) {perm = [1, 0]}", "%y"));
  expect_unchanged(fold_requantization, graph("0.5", "Transpose(%0) {perm = [1, 0]}", "%y, %1"));
  expect_unchanged(fold_requantization, graph("0.5", "Relu(%0)", "%y"));
}

}  // namespace
}  // namespace sluice
