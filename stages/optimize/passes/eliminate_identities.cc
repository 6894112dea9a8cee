// Erases nodes that return one of their inputs.
//
//   before:  %1 = Dropout(%x)   %2 = Cast(%1) {to = 1}   %3 = Mul(%2, 1)   %y = Relu(%3)
//   after:   %y = Relu(%x)                                           (%x is f32)
//
// Legal only where every bit stays: the result's type is the input's; x + -0.0 and x - 0.0 are x
// for every float, x + 0.0 is not (-0.0 becomes 0.0); integers have one zero; Dropout is left alone
// when it trains or its mask is read. A node whose result is an output of the model stays when its
// input is an input, a constant or another output: outputs keep their names.
#include <algorithm>

#include "common/ops/attributes.h"
#include "common/ops/of_shapes.h"
#include "common/pass/editor.h"
#include "stages/optimize/constants.h"
#include "stages/optimize/passes/passes.h"

namespace sluice {
namespace {

bool is_identity_permutation(const Node& node) {
  const std::vector<int64_t> perm = node.get(attributes::Transpose::perm);
  if (perm.empty()) return node.input(0)->type().ranked && node.input(0)->type().rank() < 2;
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// Returns whether adding it changes no element.
bool is_zero_to_add(const Value& value) {
  return is_filled_with(value, dtype_is_float(value.type().dtype) ? -0.0 : 0.0);
}

bool is_inference_dropout(const Node& node) {
  const bool trains = node.input(2) != nullptr && !node.input(2)->is_constant();
  if (trains || (node.output_count() > 1 && node.output(1).is_used())) return false;
  if (node.input(2) == nullptr) return true;
  const Segment& mode = node.graph().module().segment(node.input(2)->segment());
  return !mode.data.empty() && mode.data[0] == std::byte{0};
}

bool is_zero_padding(const Node& node) {
  const auto pads = constant_ints(node.input(1));
  return pads && std::all_of(pads->begin(), pads->end(), [](int64_t pad) { return pad == 0; });
}

// Returns the input that the node returns unchanged, or null. The caller compares the types.
Value* given_back(const Node& node) {
  switch (node.op()) {
    case Op::kIdentity:
    case Op::kCast:  // to the same dtype, as types are equal
    case Op::kFlatten:
    case Op::kSqueeze:
    case Op::kUnsqueeze:
      return node.input(0);
    case Op::kReshape:
    case Op::kExpand:
      return is_of_shapes(*node.input(1)) ? node.input(0) : nullptr;
    case Op::kConcat:
      return node.input_count() == 1 ? node.input(0) : nullptr;
    case Op::kDropout:
      return is_inference_dropout(node) ? node.input(0) : nullptr;
    case Op::kTranspose:
      return is_identity_permutation(node) ? node.input(0) : nullptr;
    case Op::kPad:
      return is_zero_padding(node) ? node.input(0) : nullptr;
    case Op::kAdd:
      return is_zero_to_add(*node.input(1))   ? node.input(0)
             : is_zero_to_add(*node.input(0)) ? node.input(1)
                                              : nullptr;
    case Op::kMul:
      return is_filled_with(*node.input(1), 1)   ? node.input(0)
             : is_filled_with(*node.input(0), 1) ? node.input(1)
                                                 : nullptr;
    case Op::kSub:
      return is_filled_with(*node.input(1), 0) ? node.input(0) : nullptr;
    case Op::kDiv:
      return is_filled_with(*node.input(1), 1) ? node.input(0) : nullptr;
    default:
      return nullptr;
  }
}

bool rewrite_identity(Editor& editor, Node& node) {
  if (!is_removable(node)) return false;
  Value* input = given_back(node);
  if (input == nullptr || input->type().has_unknown() || !editor.replace(node.output(), *input))
    return false;
  editor.erase_unused(node);
  return true;
}

}  // namespace

Result<bool> eliminate_identities(Graph& root, const Options&) {
  return on_every_node(root, rewrite_identity);
}

}  // namespace sluice
