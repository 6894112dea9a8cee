// Makes a convolution of CausalConvWithState, for which the aicore engine has kernels.
//
//   before:  %y, %present = CausalConvWithState(%x, %w, %b, %past) {activation = "silu"}
//   after:   %1 = Concat(%past, %x)   %2 = Conv(%1, %w, %b) {group = channels}   %y = Swish(%2)
//            %present = Slice(%1)     the last elements, as many as the past has
//
// Without a past, zeros are padded. Legal because these are the operator's formulas, as
// common/eval/causal_conv.cc computes them; sums are in f32, also of f16 and bf16. The node stays
// where its operands may or may not fit each other, and where an annotation places or keeps it.
#include <limits>

#include "common/ops/attributes.h"
#include "common/ops/dim_math.h"
#include "common/pass/editor.h"
#include "stages/optimize/constants.h"
#include "stages/optimize/node_maker.h"
#include "stages/optimize/passes/passes.h"

namespace sluice {
namespace {

struct CausalForm {
  Dim batch;
  int64_t channels = 0;
  Dim length, line;  // of the input, and with the past
  int64_t past = 0;  // elements that a filter reads before its own
};

bool has_known_shape(const Value* value) {
  return value != nullptr && value->type().is_tensor() && !value->type().has_unknown();
}

bool has_dims(const Value* value, const std::vector<Dim>& dims) {
  return value == nullptr || (has_known_shape(value) && value->type().dims == dims);
}

std::optional<CausalForm> read_causal_form(const Node& node) {
  if (node.op() != Op::kCausalConvWithState || !is_removable(node) ||
      node.placement.engine != EngineId::kNone || !has_known_shape(node.input(0)) ||
      !has_known_shape(node.input(1)))
    return std::nullopt;
  const std::vector<Dim>&x = node.input(0)->type().dims, &w = node.input(1)->type().dims;
  const bool is_fixed = x.size() == 3 && x[1].is_fixed() && w.size() == 3 && w[2].is_fixed();
  if (!is_fixed || w[0] != x[1] || w[1] != Dim::fixed(1) || x[1].value < 1 || w[2].value < 1)
    return std::nullopt;
  CausalForm form{.batch = x[0], .channels = x[1].value, .length = x[2], .past = w[2].value - 1};
  form.line = DimMath(node.graph().module()).add(x[2], form.past);
  const std::vector<Dim> state = {x[0], x[1], Dim::fixed(form.past)};
  const bool fits =
      !form.line.is_unknown() && has_dims(node.input(2), {x[1]}) &&
      has_dims(node.input(3), state) && has_dims(&node.output(0), x) &&
      (node.output_count() < 2 || !node.output(1).is_used() || has_dims(&node.output(1), state));
  return fits ? std::optional(form) : std::nullopt;
}

// Returns the input after its past.
Value& line_of(NodeMaker& make, const Node& node, const CausalForm& form) {
  Value& x = *node.input(0);
  const Type type =
      Type::tensor(x.type().dtype, {form.batch, Dim::fixed(form.channels), form.line});
  if (node.input(3) == nullptr)
    return make.add(Op::kPad, {&x, &add_ints(node.graph(), {0, 0, form.past, 0, 0, 0})}, type);
  Node& joint = make.node(Op::kConcat, {node.input(3), &x}, type);
  joint.set(attributes::Concat::axis, int64_t{2});
  return joint.output();
}

Value& convolved(NodeMaker& make, const Node& node, const CausalForm& form, Value& line) {
  std::vector<Value*> operands = {&make.cast(line, DType::kF32),
                                  &make.cast(*node.input(1), DType::kF32)};
  if (node.input(2) != nullptr) operands.push_back(&make.cast(*node.input(2), DType::kF32));
  const Type type = Type::tensor(DType::kF32, {form.batch, Dim::fixed(form.channels), form.length});
  Node& conv = make.node(Op::kConv, operands, type);
  conv.set(attributes::Conv::group, form.channels);
  if (node.get(attributes::CausalConvWithState::activation) == "none") return conv.output();
  return make.add(Op::kSwish, {&conv.output()}, type);
}

Value& last_elements(NodeMaker& make, const Node& node, const CausalForm& form, Value& line) {
  Graph& graph = node.graph();
  const int64_t end = form.past == 0 ? 0 : std::numeric_limits<int64_t>::max();
  Type type = line.type();
  type.dims[2] = Dim::fixed(form.past);
  return make.add(
      Op::kSlice,
      {&line, &add_ints(graph, {-form.past}), &add_ints(graph, {end}), &add_ints(graph, {2})},
      type);
}

void replace_causal_convolution(Editor& editor, Node& node, const CausalForm& form) {
  NodeMaker make(editor, node);
  Value& line = line_of(make, node, form);
  make.give(0, make.cast(convolved(make, node, form, line), node.input(0)->type().dtype));
  if (node.output_count() > 1 && node.output(1).is_used())
    make.give(1, last_elements(make, node, form, line));
  make.finish();
}

bool rewrite_causal_convolution(Editor& editor, Node& node) {
  const auto form = read_causal_form(node);
  if (form) replace_causal_convolution(editor, node, *form);
  return form.has_value();
}

}  // namespace

Result<bool> decompose_causal_convolution(Graph& root, const Options&) {
  return on_every_node(root, rewrite_causal_convolution);
}

}  // namespace sluice
