// Contractions over integers of 8 bits, as the aicore engine supports them
// (docs/quantised-models.md). Two forms are equivalent:
//
//   QLinearConv, QLinearMatMul, ConvInteger, MatMulInteger; the last two also as the anchor of a
//   Fused body that continues with a Cast to f32
//
//   a Fused body: DequantizeLinear of both operands -> Conv, MatMul or Gemm -> elementwise nodes
//   -> QuantizeLinear, or without the last
#pragma once

#include <optional>
#include <string>

#include "common/ir/graph.h"

namespace sluice {

struct QuantizedOperand {
  const Value* integers = nullptr;    // in the body, or of the plain node
  const Value* scale = nullptr;       // null: 1
  const Value* zero_point = nullptr;  // null: 0
};

struct QuantizedContraction {
  const Node* anchor = nullptr;
  QuantizedOperand x, w;
  // With a null scale the result is f32, or i32 when nothing follows an integer anchor.
  QuantizedOperand y;
  const Value* bias = nullptr;  // i32, in units of x.scale * w.scale
  const Value* result = nullptr;
  const Node* first = nullptr;   // DequantizeLinear of x; null in the first form
  const Node* second = nullptr;  // DequantizeLinear of w
  const Node* cast = nullptr;    // after an integer anchor
  const Node* last = nullptr;    // QuantizeLinear

  bool is_conv() const {
    return anchor->op() == Op::kConv || anchor->op() == Op::kQLinearConv ||
           anchor->op() == Op::kConvInteger;
  }
  // Returns true for nodes that the integer contraction replaces; the others are the epilogue.
  bool is_own(const Node& node) const {
    return &node == anchor || &node == first || &node == second || &node == cast || &node == last;
  }
};

bool is_integer_contraction(Op op);  // QLinearConv, QLinearMatMul, ConvInteger, MatMulInteger

// Returns nothing when the node is not a contraction over integers.
std::optional<QuantizedContraction> read_quantized(const Node& node);

// Returns an empty text when aicore can lower the contraction, otherwise the reason. node is the
// one that was read. A contraction assembled from nodes that are not in a body yet is passed with
// its anchor, and its epilogue is not checked.
std::string quantized_unsupported_reason(const Node& node, const QuantizedContraction& quantized);

// Returns the same of a contraction whose sums are its result, as i32: whatever its own result is.
std::string integer_sums_unsupported_reason(const Node& node,
                                            const QuantizedContraction& quantized);

// Returns the single element of a constant whose bytes are in the graph.
std::optional<double> known_number(const Value& value);

// Returns true for a DequantizeLinear from integers of 8 bits to f32 with one scale or, when `axis`
// is not negative, one for each index of that axis.
bool is_byte_dequantization(const Node* node, int64_t axis);

// Returns whether a kernel takes the second matrix as it is in memory, with a shape that need not
// be fixed; others are packed before: constants, and the weights of convolutions.
bool reads_matrix_in_place(const Node& node, const QuantizedContraction& quantized);

// Returns the axis of an anchor's second operand that becomes the result's channels or columns; -1
// for a vector.
int64_t column_axis(const Node& anchor);

}  // namespace sluice
