// Makes nodes that move or choose elements do so with integers.
//
//   before:  %1 = DequantizeLinear(%x, s, z)   %2 = MaxPool(%1)   %y = QuantizeLinear(%2, s, z)
//   after:   %y = MaxPool(%x)
//
// Legal for one scale and zero point, the same on both sides: quantizing the difference to the zero
// point times the scale produces the integer again, since the scale is not a denormal number and
// the integers have 8 bits; and the order of numbers is that of their integers, since the scale is
// positive. For MaxPool positions outside the image count for less than all numbers, in integers as
// in floats. %1 stays if something else reads it.
#include <algorithm>
#include <iterator>

#include "common/pass/editor.h"
#include "common/target/quantized.h"
#include "stages/optimize/passes/passes.h"

namespace sluice {
namespace {

constexpr Op kMoving[] = {Op::kDepthToSpace, Op::kExpand,    Op::kFlatten,  Op::kGather,
                          Op::kMaxPool,      Op::kReshape,   Op::kSlice,    Op::kSpaceToDepth,
                          Op::kSqueeze,      Op::kTranspose, Op::kUnsqueeze};

bool is_moving(const Node& node) {
  return std::find(std::begin(kMoving), std::end(kMoving), node.op()) != std::end(kMoving) &&
         node.output_count() == 1;
}

bool is_same_number(const Value* a, const Value* b) {
  if (a == b) return true;
  const auto x = a == nullptr ? 0.0 : known_number(*a), y = b == nullptr ? 0.0 : known_number(*b);
  return x && y && *x == *y;
}

bool has_usual_scale(const Node& dequantize) {
  const auto scale = known_number(*dequantize.input(1));
  return scale && *scale > 1e-30 && *scale < 1e30;
}

// Returns the node that quantizes this one's only result with the quantization of its input; null
// when there is none.
Node* find_quantization(const Node& node, const Node& dequantize) {
  const Value& result = node.output();
  if (result.uses().size() != 1 || result.is_output()) return nullptr;
  Node* quantize = result.uses()[0].node;
  if (quantize->op() != Op::kQuantizeLinear || quantize->input(0) != &result ||
      !(quantize->placement == node.placement))
    return nullptr;
  const bool is_same = is_same_number(quantize->input(1), dequantize.input(1)) &&
                       is_same_number(quantize->input(2), dequantize.input(2)) &&
                       quantize->output().type().dtype == dequantize.input(0)->type().dtype;
  return is_same && is_removable(*quantize) ? quantize : nullptr;
}

Result<bool> fold_requantizations(Graph& graph) {
  Editor editor(graph);
  bool changed = false;
  for (Node& node : graph.nodes()) {
    Node* dequantize =
        is_moving(node) && node.input(0) != nullptr ? node.input(0)->producer() : nullptr;
    if (!is_byte_dequantization(dequantize, -1) || !has_usual_scale(*dequantize) ||
        node.placement.keep)
      continue;
    Node* quantize = find_quantization(node, *dequantize);
    if (quantize == nullptr) continue;
    node.set_input(0, dequantize->input(0));
    node.output().set_type(quantize->output().type_id());
    node.output().set_name(quantize->output().name());
    node.add_origins(dequantize->origins());
    node.add_origins(quantize->origins());
    editor.replace(quantize->output(), node.output());
    editor.erase_unused(*quantize);
    editor.erase_unused(*dequantize);
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> fold_requantization(Graph& root, const Options&) {
  return on_every_graph(root, fold_requantizations);
}

}  // namespace sluice
