// Graphs around one attention, for the tests of fuse-attention.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "stages/optimize/testing/fusion_graphs.h"

namespace sluice {

inline constexpr char kInputs[] = "%q: f32[2, 3, 4, 16], %k: f32[2, 3, 4, 16], %v: f32[2, 3, 4, 8]";
inline constexpr char kProduct[] = R"(  %kt: f32[2, 3, 16, 4] = Transpose(%k) {perm = [0, 1, 3, 2]}
  %s: f32[2, 3, 4, 4] = MatMul(%q, %kt)
)";
inline constexpr char kWeighted[] = R"(  %w: f32[2, 3, 4, 4] = Softmax(%t) {axis = -1}
  %y: f32[2, 3, 4, 8] = MatMul(%w, %v)
)";

// The same of the product itself.
inline constexpr char kUnscaled[] = R"(  %w: f32[2, 3, 4, 4] = Softmax(%s)
  %y: f32[2, 3, 4, 8] = MatMul(%w, %v)
)";

// The three heads of size 4 of an operand: %qh of %q. `turned`: rows and sizes are exchanged.
inline std::string split_heads(const std::string& name, const std::string& batch,
                               const std::string& rows, bool turned = false) {
  const std::string heads = batch + ", 3, " + (turned ? "4, " + rows : rows + ", 4");
  return "  %" + name + "4: f32[" + batch + ", " + rows + ", 3, 4] = Reshape(%" + name +
         ", %split)\n  %" + name + "h: f32[" + heads + "] = Transpose(%" + name +
         "4) {perm = [0, 2, " + (turned ? "3, 1" : "1, 3") + "]}\n";
}

// The product %s, nodes that make %t of it, and the sum of values with the weights.
inline std::string around(const std::string& constants, const std::string& nodes) {
  return constants + kProduct + nodes + kWeighted;
}

// Expects that the nodes around become one Attention with the operands and attributes.
inline void expect_attention(const std::string& constants, const std::string& nodes,
                             const std::string& attributes, const std::string& kept = "",
                             const std::string& more_inputs = "", const std::string& mask = "") {
  SCOPED_TRACE(nodes);
  const std::string inputs = kInputs + more_inputs;
  expect_rewrite(fuse_attention, graph_of(inputs, around(constants, nodes)),
                 graph_of(inputs, kept + "  %y: f32[2, 3, 4, 8] = Attention(%q, %k, %v" + mask +
                                      ")" + attributes + "\n"));
}

// Expects one Attention instead of the softmax, with the same results.
inline void expect_fused(const std::string& inputs, const std::string& nodes) {
  SCOPED_TRACE(nodes);
  expect_decomposed(fuse_attention, graph_of(inputs, nodes), Op::kSoftmax);
}

inline void expect_kept(const std::string& inputs, const std::string& nodes,
                        const std::string& outputs = "%y") {
  SCOPED_TRACE(nodes);
  expect_unchanged(fuse_attention, graph_of(inputs, nodes, outputs));
}

// Conditions on an input: about half of the keys are hidden.
inline constexpr char kCondition[] = "  %b: bool[2, 1, 4, 4] = Less(%m, %z)\n";
inline constexpr char kConditionInput[] = ", %m: f32[2, 1, 4, 4]";

}  // namespace sluice
