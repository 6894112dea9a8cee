#include "common/target/quantized.h"

#include <algorithm>
#include <cstring>

#include "common/ir/fixed.h"
#include "common/ir/module.h"
#include "common/ops/attributes.h"
#include "common/target/aicore.h"

namespace sluice {
namespace {

// A sum of this many products of 255 * 255 still fits 31 bits.
constexpr int64_t kMaxProducts = 32768;

bool is_byte(DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; }

template <typename T>
double number_of(const std::vector<std::byte>& bytes) {
  T number{};
  std::memcpy(&number, bytes.data(), sizeof(T));
  return static_cast<double>(number);
}

// Returns the value outside that corresponds to the body's value.
const Value& outside(const Node& node, const Value& value) {
  const Graph* body = node.op() == Op::kFused ? node.get(attributes::Fused::body) : nullptr;
  if (body == nullptr || &value.graph() != body) return value;
  for (size_t i = 0; i < body->inputs().size(); ++i) {
    if (body->inputs()[i] == &value && node.input(i) != nullptr) return *node.input(i);
  }
  return value;
}

bool is_one_number(const Value* value) {
  return value == nullptr || value->type().element_count() == 1;
}

// Returns true for one number, or one per column along the last axis.
bool is_per_column(const Value* value, const Dim& columns) {
  if (is_one_number(value)) return true;
  const std::vector<Dim>& dims = value->type().dims;
  return !dims.empty() && dims.back() == columns &&
         std::all_of(dims.begin(), dims.end() - 1,
                     [](const Dim& dim) { return dim == Dim::fixed(1); });
}

std::string shape_unsupported_reason(const Value& value) {
  const Type& type = value.type();
  if (!has_computed_size(type)) return "a dim of unknown size";
  return std::find(type.dims.begin(), type.dims.end(), Dim::fixed(0)) != type.dims.end()
             ? "an empty tensor"
             : "";
}

std::string quantized_conv_unsupported_reason(const Node& conv, const Type& x, const Type& w) {
  if (x.rank() != 4 || w.rank() != 4)
    return fmt::format("a convolution of rank {}, only 2-d ones", x.rank());
  if (!x.dims[1].is_fixed()) return "channels whose number is not fixed";
  if (!w.is_fixed()) return "weights whose shape is not fixed";
  if (conv.get(attributes::Window::auto_pad) != "NOTSET") return "padding that is not explicit";
  const std::vector<int64_t> pads = conv.get(attributes::Strided::pads);
  if (std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad < 0; }))
    return "negative padding";
  return {};
}

std::string matrix_unsupported_reason(const QuantizedContraction& q, bool has_epilogue) {
  const Type &x = q.x.integers->type(), &w = q.w.integers->type();
  if (q.anchor->op() == Op::kGemm) {
    if (q.anchor->get(attributes::Gemm::transA) != 0)
      return "a transposed first operand of integers";
  } else if (std::string reason = matrices_unsupported_reason(x, w); !reason.empty()) {
    return reason;
  }
  return x.dims.back().is_fixed() || !has_epilogue ? "" : "sums whose length is not fixed";
}

// Returns the number of products of a sum; 0 where it is not fixed.
int64_t sum_length(const QuantizedContraction& q) {
  if (!q.is_conv()) {
    const Dim& length = q.x.integers->type().dims.back();
    return length.is_fixed() ? length.value : 0;
  }
  const Type& w = q.w.integers->type();
  const int64_t channels = w.dims[0].is_fixed() ? w.dims[0].value : 0;
  return channels > 0 ? w.element_count().value_or(0) / channels : 0;
}

std::string operand_unsupported_reason(const QuantizedContraction& q, bool has_epilogue) {
  for (const Value* value : {q.x.integers, q.w.integers}) {
    if (!is_byte(value->type().dtype))
      return fmt::format("integers of dtype {}, only i8 and u8", dtype_name(value->type().dtype));
    if (value->type().rank() < 1) return "operands of rank 0";
    if (std::string reason = shape_unsupported_reason(*value); !reason.empty()) return reason;
  }
  const Type& w = q.w.integers->type();
  std::string reason = q.is_conv()
                           ? quantized_conv_unsupported_reason(*q.anchor, q.x.integers->type(), w)
                           : matrix_unsupported_reason(q, has_epilogue);
  if (!reason.empty()) return reason;
  if (!is_one_number(q.x.scale) || !is_one_number(q.x.zero_point))
    return "a scale or zero point for each row";
  const int64_t axis = column_axis(*q.anchor);
  const Dim columns = axis < 0 ? Dim::fixed(1) : w.dims[static_cast<size_t>(axis)];
  if (!is_per_column(q.w.scale, columns) || !is_per_column(q.w.zero_point, columns))
    return "scales that are neither one nor one per column";
  return sum_length(q) > kMaxProducts ? fmt::format("sums of more than {} products", kMaxProducts)
                                      : "";
}

std::string result_unsupported_reason(const Node& node, const QuantizedContraction& q) {
  for (const Value* scale : {q.x.scale, q.w.scale, q.y.scale}) {
    if (scale != nullptr && scale->type().dtype != DType::kF32)
      return fmt::format("a scale of dtype {}", dtype_name(scale->type().dtype));
  }
  const Value& result = *q.result;
  if (std::string reason = shape_unsupported_reason(result); !reason.empty()) return reason;
  const DType dtype = result.type().dtype;
  if (q.y.scale == nullptr)
    return dtype == DType::kF16 || dtype == DType::kBF16
               ? fmt::format("a result of dtype {}", dtype_name(dtype))
               : "";
  if (!is_byte(dtype))
    return fmt::format("a result of dtype {}, only i8 and u8", dtype_name(dtype));
  if (!is_one_number(q.y.scale) || !is_one_number(q.y.zero_point))
    return "a result with a scale for each channel";
  for (const Value* value : {q.y.scale, q.y.zero_point}) {
    if (value != nullptr && !known_number(outside(node, *value)))
      return "a scale or zero point of the result that is no constant";
  }
  return {};
}

std::string remainder_unsupported_reason(const QuantizedContraction& q) {
  std::string reason = epilogue_unsupported_reason(
      *q.anchor, true, [&](const Node& node) { return q.is_own(node); });
  if (!reason.empty()) return reason;
  const Value* bias =
      q.first != nullptr && q.anchor->op() != Op::kMatMul ? q.anchor->input(2) : nullptr;
  if (bias == nullptr) return {};
  if (bias->producer() != nullptr) return "a Fused body that computes its anchor's bias";
  return q.is_conv() || is_epilogue_operand(bias->type(), *q.anchor, true)
             ? ""
             : "a bias that broadcasts in an unusual way";
}

QuantizedOperand dequantized(const Node& node) {
  return {node.input(0), node.input(1), node.input(2)};
}

QuantizedContraction read_plain(const Node& node) {
  QuantizedContraction q{.anchor = &node, .result = &node.output()};
  if (node.op() == Op::kQLinearConv || node.op() == Op::kQLinearMatMul) {
    q.x = {node.input(0), node.input(1), node.input(2)};
    q.w = {node.input(3), node.input(4), node.input(5)};
    q.y = {&node.output(), node.input(6), node.input(7)};
    q.bias = node.input(8);
  } else {
    q.x = {node.input(0), nullptr, node.input(2)};
    q.w = {node.input(1), nullptr, node.input(3)};
  }
  return q;
}

const Node* only_reader(const Value& value) {
  return value.uses().size() == 1 && !value.is_output() ? value.uses()[0].node : nullptr;
}

std::optional<QuantizedContraction> read_fused(const Graph& body) {
  const Node* anchor = find_anchor(body);
  if (anchor == nullptr || body.outputs().size() != 1) return std::nullopt;
  QuantizedContraction q{.anchor = anchor};
  if (is_integer_contraction(anchor->op())) {
    q = read_plain(*anchor);
    q.cast = only_reader(anchor->output());
    if (q.y.scale != nullptr || q.cast == nullptr || q.cast->op() != Op::kCast) return std::nullopt;
  } else {
    q.first = anchor->input(0)->producer();
    q.second = anchor->input(1)->producer();
    if (!is_byte_dequantization(q.first, -1) ||
        !is_byte_dequantization(q.second, column_axis(*anchor)))
      return std::nullopt;
    q.x = dequantized(*q.first);
    q.w = dequantized(*q.second);
  }
  const Value& result = *body.outputs()[0];
  q.result = &result;
  if (result.producer() != nullptr && result.producer()->op() == Op::kQuantizeLinear) {
    q.last = result.producer();
    q.y = {&result, q.last->input(1), q.last->input(2)};
  }
  return q;
}

}  // namespace

bool is_integer_contraction(Op op) {
  return op == Op::kQLinearConv || op == Op::kQLinearMatMul || op == Op::kConvInteger ||
         op == Op::kMatMulInteger;
}

bool reads_matrix_in_place(const Node& node, const QuantizedContraction& q) {
  if (q.is_conv()) return false;
  const bool is_known = outside(node, *q.w.integers).is_constant() &&
                        (q.w.zero_point == nullptr || outside(node, *q.w.zero_point).is_constant());
  return !is_known || q.w.integers->type().rank() != 2 || q.x.integers->type().rank() < 2;
}

int64_t column_axis(const Node& anchor) {
  if (anchor.op() == Op::kConv || anchor.op() == Op::kConvInteger ||
      anchor.op() == Op::kQLinearConv)
    return 0;
  if (anchor.op() == Op::kGemm) return anchor.get(attributes::Gemm::transB) != 0 ? 0 : 1;
  const int64_t rank =
      static_cast<int64_t>(anchor.input(anchor.op() == Op::kQLinearMatMul ? 3 : 1)->type().rank());
  return rank > 1 ? rank - 1 : -1;
}

std::optional<double> known_number(const Value& value) {
  if (!value.is_constant() || value.is_input() || value.type().element_count() != 1)
    return std::nullopt;
  const Segment& segment = value.graph().module().segment(value.segment());
  if (segment.kind != SegmentKind::kSmall && segment.kind != SegmentKind::kSplat)
    return std::nullopt;
  if (segment.data.size() * 8 != static_cast<size_t>(dtype_bits(value.type().dtype)))
    return std::nullopt;
  switch (value.type().dtype) {
    case DType::kF32:
      return number_of<float>(segment.data);
    case DType::kI8:
      return number_of<int8_t>(segment.data);
    case DType::kU8:
      return number_of<uint8_t>(segment.data);
    case DType::kI32:
      return number_of<int32_t>(segment.data);
    default:
      return std::nullopt;
  }
}

bool is_byte_dequantization(const Node* node, int64_t axis) {
  if (node == nullptr || node->op() != Op::kDequantizeLinear ||
      node->output().type().dtype != DType::kF32)
    return false;
  if (!is_byte(node->input(0)->type().dtype)) return false;
  if (is_one_number(node->input(1))) return true;
  const int64_t rank = static_cast<int64_t>(node->input(0)->type().rank());
  int64_t along = node->get(attributes::DequantizeLinear::axis);
  if (along < 0) along += rank;
  return axis >= 0 && along == axis && node->get(attributes::DequantizeLinear::block_size) == 0 &&
         node->input(1)->type().rank() == 1;
}

std::optional<QuantizedContraction> read_quantized(const Node& node) {
  if (is_integer_contraction(node.op())) return read_plain(node);
  const Graph* body = node.op() == Op::kFused ? node.get(attributes::Fused::body) : nullptr;
  return body == nullptr ? std::nullopt : read_fused(*body);
}

std::string quantized_unsupported_reason(const Node& node, const QuantizedContraction& q) {
  const bool has_epilogue = q.result->type().dtype != DType::kI32;
  if (std::string reason = operand_unsupported_reason(q, has_epilogue); !reason.empty())
    return reason;
  if (std::string reason = result_unsupported_reason(node, q); !reason.empty()) return reason;
  return node.op() == Op::kFused ? remainder_unsupported_reason(q) : "";
}

std::string integer_sums_unsupported_reason(const Node& node, const QuantizedContraction& q) {
  std::string reason = operand_unsupported_reason(q, false);
  return reason.empty() ? shape_unsupported_reason(node.output()) : reason;
}

}  // namespace sluice
