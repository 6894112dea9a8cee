// The nodes that the aicore engine supports: contractions with fixed f32 shapes, alone or as the
// anchor of a Fused body whose other nodes can be its epilogue, or transpose operands of a matrix
// product; and contractions over integers of 8 bits (quantized.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/ir/graph.h"

namespace sluice {

// Returns an empty text when aicore can lower the node, otherwise the reason.
std::string aicore_unsupported_reason(const Node& node);

// Returns true for Conv, MatMul, Gemm and those over integers, which can be anchors.
bool is_contraction(Op op);

// Returns the anchor of a Fused body, or null when there is none or more than one.
const Node* find_anchor(const Graph& body);

// Returns the Transpose that makes operand `index` of a matrix product from an input of their body,
// or null. A kernel reads such an operand through strides.
const Node* find_operand_transpose(const Node& anchor, size_t index);
// Returns true when the second operand may be transposed. Kernels pack tiles of such an operand
// into scratch, which bounds the length of the product's sums where it is a number.
bool takes_second_transposed(const Node& product);
// Returns the order: axis i of the result is axis order[i] of the operand.
std::vector<int64_t> transpose_order(const Node& transpose);

// Return the texts for messages about a node: its op, for a Fused node with its anchor's,
// "Fused(Conv)"; and its name, or that of its first result.
std::string op_text(const Node& node);
const std::string& name_text(const Node& node);

// The broadcast class of an epilogue operand relative to the anchor's result.
enum class EpilogueShape : uint8_t {
  kScalar,  // one element
  kColumn,  // one per channel (Conv) or per column of the matrix (MatMul, Gemm)
  kRow,     // one per row of the matrix (MatMul, Gemm)
  kFull,    // the result's own shape (Conv: its rank too)
};
// Returns the operand's class under broadcasting to the anchor's result, or nothing when it is none
// of these.
std::optional<EpilogueShape> epilogue_shape(const Type& operand, const Node& anchor);

// Returns true when an elementwise node can be in an epilogue, by its op, its attributes, and the
// constants that it must have (Clip's bounds, …).
bool is_epilogue_op(const Node& node);

}  // namespace sluice
