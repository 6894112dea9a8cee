// Contractions over integers of 8 bits, as the aicore engine takes them (docs/quantised-models.md).
// Two forms mean the same:
//
//   QLinearConv, QLinearMatMul, ConvInteger, MatMulInteger; the last two also as the anchor of a
//   Fused body that goes on with a Cast to f32 a Fused body: DequantizeLinear of both operands ->
//   Conv, MatMul or Gemm -> elementwise nodes -> QuantizeLinear, or without the last
#pragma once

#include <optional>
#include <string>

#include "common/ir/graph.h"

namespace sluice {

struct QuantizedOperand {
  const Value* integers = nullptr;    // of the body, or of the plain node
  const Value* scale = nullptr;       // null: 1
  const Value* zero_point = nullptr;  // null: 0
};

struct QuantizedContraction {
  const Node* anchor = nullptr;
  QuantizedOperand x, w;
  QuantizedOperand
      y;  // scale null: the result is f32, or i32 when nothing follows an integer anchor
  const Value* bias = nullptr;  // i32, in steps of x.scale * w.scale
  const Value* result = nullptr;
  const Node* first = nullptr;   // DequantizeLinear of x, of the first form null
  const Node* second = nullptr;  // of w
  const Node* cast = nullptr;    // behind an integer anchor
  const Node* last = nullptr;    // QuantizeLinear

  bool is_conv() const {
    return anchor->op() == Op::kConv || anchor->op() == Op::kQLinearConv ||
           anchor->op() == Op::kConvInteger;
  }
  // The nodes that the integers stand for; the others are the epilogue.
  bool is_own(const Node& node) const {
    return &node == anchor || &node == first || &node == second || &node == cast || &node == last;
  }
};

bool is_integer_contraction(Op op);  // QLinearConv, QLinearMatMul, ConvInteger, MatMulInteger

// Nothing when the node is no contraction over integers.
std::optional<QuantizedContraction> read_quantized(const Node& node);

// Empty when aicore can lower it; else why not. node: the one that was read; a contraction put
// together from nodes that no body holds yet is given with its anchor, and its epilogue is not
// looked at.
std::string quantized_unsupported_reason(const Node& node, const QuantizedContraction& quantized);

// The single element of a constant that lies in the graph.
std::optional<double> known_number(const Value& value);

// True for a DequantizeLinear from integers of 8 bits to f32 with a scale for all, or one for each
// index of `axis` when that is not negative.
bool is_byte_dequantization(const Node* node, int64_t axis);

// The axis of an anchor's second operand that becomes the result's channels or columns.
int64_t column_axis(const Node& anchor);

}  // namespace sluice
