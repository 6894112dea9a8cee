#include "common/tools/show_onnx/forms.h"

#include <algorithm>
#include <string_view>

#include "common/ir/module.h"
#include "common/ops/attributes.h"

namespace sluice {
namespace {

// Operators that were added, or got the form used in graphs, after kFirstOpset.
struct OpVersion {
  Op op;
  int opset;
};
constexpr OpVersion kOps[] = {
    {Op::kAffineGrid, 20},
    {Op::kAttention, 23},
    {Op::kBitCast, 26},
    {Op::kBitwiseAnd, 18},
    {Op::kBitwiseNot, 18},
    {Op::kBitwiseOr, 18},
    {Op::kBitwiseXor, 18},
    {Op::kCausalConvWithState, 27},
    {Op::kCenterCropPad, 18},
    {Op::kCol2Im, 18},
    {Op::kCumProd, 26},
    {Op::kDFT, 20},
    {Op::kDeformConv, 19},
    {Op::kGelu, 20},
    {Op::kGroupNormalization, 21},
    {Op::kImageDecoder, 20},
    {Op::kLinearAttention, 27},
    {Op::kMish, 18},
    {Op::kRMSNormalization, 23},
    {Op::kRegexFullMatch, 20},
    {Op::kRotaryEmbedding, 23},
    {Op::kStringConcat, 20},
    {Op::kStringSplit, 20},
    {Op::kSwiGLU, 28},
    {Op::kSwish, 24},
    {Op::kTensorScatter, 24},
};

// Attributes that are newer than their operator. word: only with that value.
struct AttributeVersion {
  Op op;
  std::string_view attribute;
  int opset;
  std::string_view word = {};
};
constexpr AttributeVersion kAttributes[] = {
    {Op::kAveragePool, "dilations", 19},
    {Op::kCast, "round_mode", 24},
    {Op::kCast, "saturate", 19},
    {Op::kCastLike, "round_mode", 24},
    {Op::kCastLike, "saturate", 19},
    {Op::kDequantizeLinear, "block_size", 21},
    {Op::kDequantizeLinear, "output_dtype", 23},
    {Op::kGridSample, "mode", 20, "cubic"},
    {Op::kGridSample, "mode", 20, "linear"},
    {Op::kLpPool, "ceil_mode", 18},
    {Op::kLpPool, "dilations", 18},
    {Op::kPad, "mode", 19, "wrap"},
    {Op::kQuantizeLinear, "block_size", 21},
    {Op::kQuantizeLinear, "output_dtype", 21},
    {Op::kQuantizeLinear, "precision", 23},
    {Op::kQuantizeLinear, "saturate", 19},
    {Op::kResize, "antialias", 18},
    {Op::kResize, "axes", 18},
    {Op::kResize, "coordinate_transformation_mode", 19, "half_pixel_symmetric"},
    {Op::kResize, "keep_aspect_ratio_policy", 18},
    {Op::kScatterElements, "reduction", 18, "max"},
    {Op::kScatterElements, "reduction", 18, "min"},
    {Op::kScatterND, "reduction", 18, "max"},
    {Op::kScatterND, "reduction", 18, "min"},
};

// Inputs that are newer than their operator.
struct InputVersion {
  Op op;
  size_t input;
  int opset;
};
constexpr InputVersion kInputs[] = {{Op::kAttention, 6, 24}, {Op::kPad, 3, 18}};

// Element types that an operator accepts since a later opset than its form.
struct OperandVersion {
  Op op;
  DType dtype;
  int opset;
};
constexpr OperandVersion kOperands[] = {
    {Op::kCelu, DType::kBF16, 28},
    {Op::kCelu, DType::kF16, 28},
    {Op::kDequantizeLinear, DType::kI16, 21},
    {Op::kDequantizeLinear, DType::kU16, 21},
    {Op::kEqual, DType::kString, 19},
    {Op::kQLinearMatMul, DType::kBF16, 21},
    {Op::kQLinearMatMul, DType::kF16, 21},
    {Op::kQuantizeLinear, DType::kI16, 21},
    {Op::kQuantizeLinear, DType::kU16, 21},
    {Op::kRange, DType::kBF16, 27},
    {Op::kRange, DType::kF16, 27},
    {Op::kReduceMax, DType::kBool, 20},
    {Op::kReduceMin, DType::kBool, 20},
};

// The element types of later opsets and IR versions; all others are in opset 17 and IR version 8.
struct DTypeVersion {
  DType dtype;
  int opset;
  int ir_version;
};
constexpr DTypeVersion kDTypes[] = {
    {DType::kF8E4M3FN, 19, 9},   {DType::kF8E4M3FNUZ, 19, 9}, {DType::kF8E5M2, 19, 9},
    {DType::kF8E5M2FNUZ, 19, 9}, {DType::kU4, 21, 10},        {DType::kI4, 21, 10},
    {DType::kF4E2M1, 23, 11},    {DType::kF8E8M0, 24, 12},    {DType::kU2, 25, 13},
    {DType::kI2, 25, 13},
};

// Reductions whose axes became an input in opset 18; those of ReduceSum did in opset 13.
constexpr Op kReductions[] = {Op::kReduceL1,        Op::kReduceL2,   Op::kReduceLogSum,
                              Op::kReduceLogSumExp, Op::kReduceMax,  Op::kReduceMean,
                              Op::kReduceMin,       Op::kReduceProd, Op::kReduceSumSquare};

// Forms of old opsets, which no opset since kFirstOpset has.
constexpr Op kRetired[] = {Op::kScatter, Op::kUpsample};

int opset_of(Op op, DType dtype) {
  const auto* row = std::ranges::find(kDTypes, dtype, &DTypeVersion::dtype);
  int opset = row == std::end(kDTypes) ? kFirstOpset : row->opset;
  for (const OperandVersion& operand : kOperands) {
    if (operand.op == op && operand.dtype == dtype) opset = std::max(opset, operand.opset);
  }
  return opset;
}

int opset_of_types(const Node& node) {
  int opset = kFirstOpset;
  const auto take = [&](const Value* value) {
    if (value != nullptr) opset = std::max(opset, opset_of(node.op(), value->type().dtype));
  };
  for (size_t i = 0; i < node.input_count(); ++i) take(node.input(i));
  for (size_t i = 0; i < node.output_count(); ++i) take(&node.output(i));
  return opset;
}

int opset_of_attributes(const Node& node) {
  int opset = kFirstOpset;
  for (const AttributeVersion& row : kAttributes) {
    const AttributeValue* found =
        row.op == node.op() ? node.find_attribute(row.attribute) : nullptr;
    const auto* word = found == nullptr ? nullptr : std::get_if<std::string>(found);
    const bool counts =
        found != nullptr && (row.word.empty() || (word != nullptr && *word == row.word));
    if (counts) opset = std::max(opset, row.opset);
  }
  return opset;
}

bool is_reduction(const Node& node) {
  return std::ranges::find(kReductions, node.op()) != std::end(kReductions);
}

bool is_optional(const Value* value) {
  return value != nullptr && value->type().kind == TypeKind::kOptional;
}

// Returns the opset of forms that several facts determine.
int opset_of_form(const Node& node) {
  const Value* first = node.input(0);
  switch (node.op()) {
    case Op::kGridSample:
      return first != nullptr && first->type().rank() > 4 ? 20 : kFirstOpset;
    case Op::kOptionalGetElement:
    case Op::kOptionalHasElement:
      return is_optional(first) ? kFirstOpset : 18;
    case Op::kSplit:
      return node.input(1) != nullptr || has_equal_pieces(node) ? kFirstOpset : 18;
    default:
      return is_reduction(node) && !has_constant_axes(node) ? 18 : kFirstOpset;
  }
}

}  // namespace

bool has_onnx_form(const Node& node) {
  return op_domain(node.op()) == Domain::kOnnx &&
         std::ranges::find(kRetired, node.op()) == std::end(kRetired);
}

int needed_opset(const Node& node) {
  const bool is_preview = node.op() == Op::kFlexAttention;  // its domain has separate versions
  if (!has_onnx_form(node) || is_preview) return kFirstOpset;
  const auto* row = std::ranges::find(kOps, node.op(), &OpVersion::op);
  int opset = row == std::end(kOps) ? kFirstOpset : row->opset;
  for (const InputVersion& input : kInputs) {
    if (input.op == node.op() && node.input(input.input) != nullptr)
      opset = std::max(opset, input.opset);
  }
  return std::max({opset, opset_of_types(node), opset_of_attributes(node), opset_of_form(node)});
}

bool has_constant_axes(const Node& node) {
  if (!is_reduction(node)) return false;
  if (node.get(attributes::Reduce::noop_with_empty_axes) != 0) return false;
  const Value* axes = node.input(1);
  if (axes == nullptr) return true;
  const bool is_known =
      axes->is_constant() && !axes->is_input() && axes->type().dtype == DType::kI64;
  return is_known && node.graph().module().segment(axes->segment()).kind == SegmentKind::kSmall;
}

bool has_equal_pieces(const Node& node) {
  const Value* whole = node.input(0);
  if (whole == nullptr || !whole->type().is_tensor() || !whole->type().ranked) return false;
  const int64_t rank = whole->type().rank();
  int64_t axis = node.get(attributes::Split::axis);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || node.output_count() == 0) return false;
  const Dim& dim = whole->type().dims[static_cast<size_t>(axis)];
  return dim.is_fixed() && dim.value % static_cast<int64_t>(node.output_count()) == 0;
}

int needed_ir_version(DType dtype) {
  constexpr int kFirstIrVersion = 8;  // the first with functions
  const auto* row = std::ranges::find(kDTypes, dtype, &DTypeVersion::dtype);
  return row == std::end(kDTypes) ? kFirstIrVersion : row->ir_version;
}

}  // namespace sluice
