// What the aicore engine takes: contractions with fixed f32 shapes, alone or as the anchor of a
// Fused body whose other nodes can be its epilogue, or transpose operands of a matrix product; and
// those over integers of 8 bits (quantized.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/ir/graph.h"

namespace sluice {

// Empty when aicore can lower the node; else why not.
std::string aicore_unsupported_reason(const Node& node);

bool is_contraction(Op op);  // Conv, MatMul, Gemm and those over integers: what can be an anchor

// The anchor of a Fused body; null when there is none, or more than one.
const Node* find_anchor(const Graph& body);

// The Transpose that makes operand `index` of a matrix product from an input of the body they stand
// in; null when none does. A kernel reads such an operand through strides.
const Node* find_operand_transpose(const Node& anchor, size_t index);
// Kernels pack panels of a transposed second operand into scratch, which bounds the length of the
// product's sums where it is a number.
bool takes_second_transposed(const Node& product);
// Axis i of the result is axis order[i] of the operand.
std::vector<int64_t> transpose_order(const Node& transpose);

// What people are told of a node: its op, of a Fused node with its anchor's, "Fused(Conv)"; and its
// name, else that of its first result.
std::string op_text(const Node& node);
const std::string& name_text(const Node& node);

// How the elements of an epilogue operand lie relative to the anchor's result.
enum class EpilogueShape : uint8_t {
  kScalar,  // one element
  kColumn,  // one per channel (Conv) or per column of the matrix (MatMul, Gemm)
  kRow,     // one per row of the matrix (MatMul, Gemm)
  kFull,    // the result's own shape (Conv: its rank too)
};
// The operand's shape class under broadcasting to the anchor's result; nothing when it is none of
// these.
std::optional<EpilogueShape> epilogue_shape(const Type& operand, const Node& anchor);

// True when an elementwise node can stand in an epilogue: its op, its attributes, and the constants
// it must have (Clip's bounds, …).
bool is_epilogue_op(const Node& node);

}  // namespace sluice
