#include "common/target/aicore.h"

#include <algorithm>
#include <span>

#include "common/ir/module.h"

namespace sluice {
namespace {

constexpr Op kUnary[] = {Op::kRelu, Op::kSigmoid, Op::kTanh,      Op::kErf,         Op::kExp,       Op::kSqrt, Op::kReciprocal,
                         Op::kNeg,  Op::kAbs,     Op::kLeakyRelu, Op::kHardSigmoid, Op::kHardSwish, Op::kElu};
constexpr Op kBinary[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kMax, Op::kMin};

bool contains(std::span<const Op> ops, Op op) { return std::find(ops.begin(), ops.end(), op) != ops.end(); }

std::string type_refusal(const Node& node) {
  for (size_t i = 0; i < node.input_count() + node.output_count(); ++i) {
    const Value* value = i < node.input_count() ? node.input(i) : &node.output(i - node.input_count());
    if (value == nullptr) continue;
    const Type& type = value->type();
    if (!type.is_tensor() || type.dtype != DType::kF32) return fmt::format("dtype {}, only f32", dtype_name(type.dtype));
    if (!type.is_fixed()) return "a shape that is not fixed";
    if (type.element_count().value_or(0) == 0) return "an empty tensor";
  }
  return {};
}

std::string conv_refusal(const Node& node) {
  if (node.input(0)->type().rank() != 4) return fmt::format("a convolution of rank {}, only 2-d ones", node.input(0)->type().rank());
  if (node.string_attribute("auto_pad", "NOTSET") != "NOTSET") return "padding that is not explicit";
  const std::vector<int64_t> pads = node.ints_attribute("pads");
  if (std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad < 0; })) return "negative padding";
  return {};
}

constexpr size_t kNoAxis = SIZE_MAX;

// Where the rows and columns of the matrix product lie among the axes of its result. MatMul of a vector leaves one of them out.
struct MatrixAxes {
  size_t row = kNoAxis, column = kNoAxis;
};

MatrixAxes matrix_axes(const Node& anchor, size_t rank) {
  if (anchor.op() == Op::kConv) return {kNoAxis, 1};
  const bool has_rows = anchor.op() == Op::kGemm || anchor.input(0)->type().rank() > 1;
  const bool has_columns = anchor.op() == Op::kGemm || anchor.input(1)->type().rank() > 1;
  MatrixAxes axes;
  if (has_columns) axes.column = --rank;
  if (has_rows) axes.row = --rank;
  return axes;
}

// A bias of Gemm must broadcast as an epilogue operand.
std::string gemm_refusal(const Node& node) {
  const Value* bias = node.input(2);
  if (bias == nullptr || epilogue_shape(bias->type(), node)) return {};
  return "a bias that broadcasts in an unusual way";
}

std::string matmul_refusal(const Node& node) {
  if (std::max(node.input(0)->type().rank(), node.input(1)->type().rank()) > 8) return "more than six batch axes";
  return {};
}

std::string anchor_refusal(const Node& node) {
  if (!is_contraction(node.op())) return fmt::format("{} is no contraction", op_name(node.op()));
  if (std::string refusal = type_refusal(node); !refusal.empty()) return refusal;
  switch (node.op()) {
    case Op::kConv:
      return conv_refusal(node);
    case Op::kGemm:
      return gemm_refusal(node);
    default:
      return matmul_refusal(node);
  }
}

std::string fused_refusal(const Node& fused) {
  const Graph* body = fused.body("body");
  const Node* anchor = body == nullptr ? nullptr : find_anchor(*body);
  if (anchor == nullptr) return "a Fused body without one contraction as its anchor";
  if (std::string refusal = anchor_refusal(*anchor); !refusal.empty()) return refusal;
  if (body->outputs().size() != 1) return "a Fused body with several results";
  for (size_t i = 0; i < anchor->input_count(); ++i) {
    if (anchor->input(i) != nullptr && anchor->input(i)->producer() != nullptr) return "a Fused body that computes its anchor's operands";
  }
  const Type& result = anchor->output().type();
  for (const Node& node : body->nodes()) {
    if (&node == anchor) continue;
    if (!is_epilogue_op(node)) return fmt::format("{} in its epilogue", op_name(node.op()));
    if (node.output().type() != result) return fmt::format("{} changes the shape in its epilogue", op_name(node.op()));
    for (size_t i = 0; i < node.input_count(); ++i) {
      const Value* input = node.input(i);
      if (input != nullptr && input->producer() == nullptr && !epilogue_shape(input->type(), *anchor)) {
        return fmt::format("an operand of {} that broadcasts in an unusual way", op_name(node.op()));
      }
    }
  }
  return {};
}

// Clip's bounds must be constants of the body.
bool has_constant_inputs(const Node& node, size_t first) {
  for (size_t i = first; i < node.input_count(); ++i) {
    if (node.input(i) != nullptr && (!node.input(i)->is_constant() || node.input(i)->is_input())) return false;
  }
  return true;
}

}  // namespace

bool is_contraction(Op op) { return op == Op::kConv || op == Op::kMatMul || op == Op::kGemm; }

const Node* find_anchor(const Graph& body) {
  const Node* anchor = nullptr;
  for (const Node& node : body.nodes()) {
    if (!is_contraction(node.op())) continue;
    if (anchor != nullptr) return nullptr;
    anchor = &node;
  }
  return anchor;
}

std::optional<EpilogueShape> epilogue_shape(const Type& operand, const Node& anchor) {
  const auto from = operand.extents();
  const auto to = anchor.output().type().extents();
  if (!from || !to || operand.dtype != DType::kF32 || from->size() > to->size()) return std::nullopt;
  std::vector<int64_t> aligned(to->size() - from->size(), 1);
  aligned.insert(aligned.end(), from->begin(), from->end());
  // A convolution's operand is stored as its result is: it needs the result's own rank.
  const bool is_whole = aligned == *to;
  if (is_whole && (anchor.op() != Op::kConv || from->size() == to->size())) return EpilogueShape::kFull;
  const MatrixAxes axes = matrix_axes(anchor, to->size());
  bool is_scalar = true, is_column = axes.column != kNoAxis, is_row = axes.row != kNoAxis;
  for (size_t axis = 0; axis < aligned.size(); ++axis) {
    if (aligned[axis] != 1 && aligned[axis] != (*to)[axis]) return std::nullopt;
    is_scalar = is_scalar && aligned[axis] == 1;
    is_column = is_column && (axis == axes.column || aligned[axis] == 1);
    is_row = is_row && (axis == axes.row || aligned[axis] == 1);
  }
  if (is_scalar) return EpilogueShape::kScalar;
  if (is_column) return EpilogueShape::kColumn;
  if (is_row) return EpilogueShape::kRow;
  return std::nullopt;
}

bool is_epilogue_op(const Node& node) {
  if (node.output_count() != 1 || !node.output().type().is_fixed() || node.output().type().dtype != DType::kF32) return false;
  if (node.op() == Op::kClip) return has_constant_inputs(node, 1);
  return contains(kUnary, node.op()) || contains(kBinary, node.op());
}

std::string aicore_refusal(const Node& node) { return node.op() == Op::kFused ? fused_refusal(node) : anchor_refusal(node); }

std::string op_text(const Node& node) {
  const Graph* body = node.op() == Op::kFused ? node.body("body") : nullptr;
  const Node* anchor = body == nullptr ? nullptr : find_anchor(*body);
  return anchor == nullptr ? std::string(op_name(node.op())) : fmt::format("Fused({})", op_name(anchor->op()));
}

const std::string& name_text(const Node& node) {
  return node.name().empty() && node.output_count() > 0 ? node.output().name() : node.name();
}

}  // namespace sluice
