// The nodes that the aicore engine supports: contractions of f32, alone or as the anchor of a Fused
// body whose other nodes can be its epilogue, or transpose operands of a matrix
// product; contractions over integers of 8 bits (quantized.h); and recurrent cells (recurrent.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/ir/graph.h"

namespace sluice {

// Returns an empty text when aicore can lower the node, otherwise the reason.
std::string aicore_unsupported_reason(const Node& node);

// Returns true for f32, f16 and bf16: what contractions of floats read and store. Their sums are
// f32.
bool is_contraction_dtype(DType dtype);

// Returns why no kernel multiplies matrices of these types, as MatMul does, or an empty text.
std::string matrices_unsupported_reason(const Type& a, const Type& b);

// Returns true for Conv, MatMul, Gemm, those over integers, and Attention, which can be anchors.
bool is_contraction(Op op);
// Returns true for those whose kernels compute what follows them, too: all but Attention.
bool takes_epilogue(Op op);

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
// "Fused(Conv)"; and its name, or that of its first result
// with a name.
std::string op_text(const Node& node);
const std::string& name_text(const Node& node);

// Returns the Interleave that puts the phases which a convolution computes into their places, when
// a kernel can store them there: the only reader of all phases, each of which gives equally many
// elements. Otherwise returns null.
const Node* find_interleave(const Node& anchor);
// Returns the value whose elements are the anchor's sums one by one: that of its Interleave, or its
// own result.
const Value& value_of_sums(const Node& anchor);

// Returns true when the epilogue of a contraction can read a value of this type: f32, broadcast
// along any axes of the anchor's result that its kernels walk one by one. Along the axes of an
// image a convolution's operand is either whole or broadcast; an operand of another rank, which has
// no layout, has channels or pixels only, and one of phases channels only. Along the rows of
// integer matrices, and the pixels of all images of integers, it is either whole or broadcast.
bool is_epilogue_operand(const Type& operand, const Node& anchor, bool is_quantized);

// Returns true when a node can be in an epilogue: it is elementwise, the loops of the engine vector
// have it (common/loop/lowering.h), and all elements are f32, f16, bf16 or bools but for numbers
// that are constants.
bool is_epilogue_op(const Node& node);

// Returns why the nodes that `is_own` does not name cannot be the epilogue of the anchor of their
// body, or an empty text.
std::string epilogue_unsupported_reason(const Node& anchor, bool is_quantized,
                                        const std::function<bool(const Node&)>& is_own);

}  // namespace sluice
