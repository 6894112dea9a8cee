#include "stages/optimize/fusion/element_roles.h"

#include <algorithm>

#include "common/loop/lowering.h"
#include "common/ops/attributes.h"
#include "common/ops/op_table.h"
#include "common/ops/pieces.h"
#include "common/ops/view.h"
#include "common/target/aicore.h"

namespace sluice {
namespace {

constexpr int64_t kSmallElements = 8;
// A row of which loops keep two in scratch, the operand and what they make of it.
constexpr int64_t kMaxRowElements = loop::kMaxLocalBytes / 2 / static_cast<int64_t>(sizeof(double));

bool keeps_last_axis(const Node& transpose) {
  const std::vector<int64_t> order = transpose_order(transpose);
  return !order.empty() && order.back() == static_cast<int64_t>(order.size()) - 1;
}

bool is_small(const Type& type) {
  if (const auto count = type.element_count()) return *count <= kSmallElements;
  return type.rank() <= 1 && !dtype_is_float(type.dtype);
}

bool computes_sizes(const Node& node) {
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (node.input(i) != nullptr && !node.input(i)->is_constant() &&
        !is_small(node.input(i)->type()))
      return false;
  }
  return is_small(node.output().type());
}

// Returns whether all inputs from `first` on are parameters, or absent.
bool has_parameters(const Node& node, size_t first) {
  for (size_t i = first; i < node.input_count(); ++i) {
    if (node.input(i) != nullptr && !is_parameter(node, i)) return false;
  }
  return true;
}

// Returns whether a Slice leaves neighbours along the last axis neighbours.
bool slices_whole_lines(const Node& node) {
  const auto axes = loop::Lowering::integers(node, 3), steps = loop::Lowering::integers(node, 4);
  const int64_t rank = node.output().type().rank();
  for (size_t i = 0; steps && i < steps->size(); ++i) {
    const int64_t axis = axes ? (*axes)[i] : static_cast<int64_t>(i);
    if ((*steps)[i] != 1 && (axis < 0 ? axis + rank : axis) == rank - 1) return false;
  }
  return true;
}

bool moves_elements(const Node& node) {
  switch (node.op()) {
    case Op::kTranspose:
      return keeps_last_axis(node);
    case Op::kSlice:
      return has_parameters(node, 1) && slices_whole_lines(node);
    case Op::kSplit:
      return has_parameters(node, 1);
    case Op::kPad:
      return is_parameter(node, 1) && node.get(attributes::Pad::mode) == "constant" &&
             (node.input(3) == nullptr || is_parameter(node, 3));
    default:
      return false;
  }
}

// Returns whether the op's loops read each element of their operand once.
bool reads_once(Op op) {
  switch (op) {
    case Op::kConcat:
    case Op::kReduceSum:
    case Op::kReduceProd:
    case Op::kReduceMax:
    case Op::kReduceMin:
    case Op::kReduceMean:
    case Op::kReduceL1:
    case Op::kReduceL2:
    case Op::kReduceSumSquare:
    case Op::kReduceLogSum:
    case Op::kArgMax:
    case Op::kArgMin:
      return true;
    default:
      return false;
  }
}

// Returns whether an operand occurs twice: a kernel writes it to one place only.
bool repeats_operand(const Node& concat) {
  std::vector<const Value*> operands;
  for (size_t i = 0; i < concat.input_count(); ++i) operands.push_back(concat.input(i));
  std::ranges::sort(operands, {}, [](const Value* value) { return value->id(); });
  return std::ranges::adjacent_find(operands) != operands.end();
}

}  // namespace

bool only_splits(const std::vector<Dim>& from, const std::vector<Dim>& to) {
  size_t k = 0;
  for (const Dim& whole : from) {
    if (whole == Dim::fixed(1)) continue;
    while (k < to.size() && to[k] == Dim::fixed(1)) ++k;
    if (k < to.size() && to[k] == whole) {
      ++k;
      continue;
    }
    int64_t product = 1;
    while (k < to.size() && to[k].is_fixed() && whole.is_fixed() && product < whole.value)
      product *= std::max<int64_t>(to[k++].value, 1);
    if (!whole.is_fixed() || product != whole.value) return false;
  }
  return std::all_of(to.begin() + static_cast<std::ptrdiff_t>(k), to.end(),
                     [](const Dim& dim) { return dim == Dim::fixed(1); });
}

Role find_role(const Node& node) {
  const loop::LoweringRow* row = loop::find_lowering(node.op());
  if (row == nullptr || !loop::unsupported_reason(node).empty() || computes_sizes(node))
    return Role::kNone;
  if (row->nests != nullptr) return Role::kLoops;
  if (moves_elements(node)) return Role::kMove;
  const OpRow* op = find_op(node.op());
  if (node.output_count() != 1 || op == nullptr) return Role::kNone;
  if (node.op() == Op::kExpand) return is_parameter(node, 1) ? Role::kSpread : Role::kNone;
  if ((op->flags & kElementwise) != 0) return Role::kElementwise;
  const bool is_split = (op->flags & kView) != 0 &&
                        (node.input(1) == nullptr || is_parameter(node, 1)) &&
                        only_splits(node.input(0)->type().dims, node.output().type().dims);
  return is_split ? Role::kReshape : Role::kNone;
}

bool joins_pieces(const Node& node) {
  if (node.op() != Op::kConcat || !is_worth_pieces(node.output()) || repeats_operand(node))
    return false;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Node* producer = node.input(i)->producer();
    while (producer != nullptr && is_view(*producer)) producer = producer->input(0)->producer();
    if (producer == nullptr || producer->op() == Op::kConcat) continue;
    const Role role = find_role(*producer);
    if (role == Role::kNone || role == Role::kLoops) return true;
  }
  return false;
}

bool is_cheap(const Node& node) {
  switch (node.op()) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kNeg:
    case Op::kAbs:
    case Op::kMax:
    case Op::kMin:
    case Op::kClip:
    case Op::kRelu:
    case Op::kLeakyRelu:
    case Op::kHardSigmoid:
    case Op::kHardSwish:
    case Op::kPRelu:
    case Op::kWhere:
    case Op::kCast:
    case Op::kCastLike:
    case Op::kIdentity:
    case Op::kNot:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
    case Op::kEqual:
    case Op::kLess:
    case Op::kLessOrEqual:
    case Op::kGreater:
    case Op::kGreaterOrEqual:
    case Op::kExpand:
    case Op::kTranspose:
    case Op::kSlice:
    case Op::kSplit:
    case Op::kReshape:
    case Op::kFlatten:
    case Op::kSqueeze:
    case Op::kUnsqueeze:
      return true;
    default:
      return false;
  }
}

bool stores_operand(const Node& node) {
  return node.op() == Op::kSoftmax || node.op() == Op::kLogSoftmax ||
         node.op() == Op::kLayerNormalization || node.op() == Op::kRMSNormalization;
}

bool computes_once(const Node& node) {
  if (reads_once(node.op())) return true;
  if (!stores_operand(node)) return false;
  const std::vector<Dim>& dims = node.input(0)->type().dims;
  const bool is_softmax = node.op() == Op::kSoftmax || node.op() == Op::kLogSoftmax;
  const size_t axis =
      loop::Lowering::axis_of(is_softmax ? node.get(attributes::Softmax::axis)
                                         : node.get(attributes::LayerNormalization::axis),
                              dims.size());
  int64_t elements = 1;
  for (size_t i = axis; i < (is_softmax ? axis + 1 : dims.size()); ++i) {
    if (!dims[i].is_fixed() || dims[i].value > kMaxRowElements) return false;
    elements *= dims[i].value;
    if (elements > kMaxRowElements) return false;
  }
  return elements > 0;
}

bool is_parameter(const Node& node, size_t input) {
  const Value* value = node.input(input);
  if (input == 0 || value == nullptr || !value->is_constant() || value->is_input()) return false;
  const loop::LoweringRow* row = loop::find_lowering(node.op());
  const OpRow* op = find_op(node.op());
  const bool has_parameters = node.op() == Op::kExpand || node.op() == Op::kSlice ||
                              node.op() == Op::kSplit || node.op() == Op::kPad ||
                              (row != nullptr && row->nests != nullptr) ||
                              (op != nullptr && (op->flags & kView) != 0);
  return has_parameters && value->type().dtype == DType::kI64;
}

}  // namespace sluice
