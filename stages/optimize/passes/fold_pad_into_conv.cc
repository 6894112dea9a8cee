// Turns zeros padded around a convolution's input into the convolution's own padding.
//
//   before:  %1 = Pad(%x, [0, 0, 1, 1, 0, 0, 1, 1])   %y = Conv(%1, %w) {pads = [0, 0, 0, 0]}
//   after:   %y = Conv(%x, %w) {pads = [1, 1, 1, 1]}
//
// Legal for constant padding with zeros of spatial axes only, none negative, before a convolution
// with explicit pads: a convolution's own padding is with zeros. %1 stays if something else reads
// it.
#include <algorithm>

#include "common/ops/attributes.h"
#include "common/pass/editor.h"
#include "stages/optimize/constants.h"
#include "stages/optimize/passes/passes.h"

namespace sluice {
namespace {

// Returns the pads of each axis, first all fronts, then all ends; nothing when they are not known.
std::optional<std::vector<int64_t>> pads_of_axes(const Node& pad) {
  const auto given = constant_ints(pad.input(1));
  const Type& type = pad.input(0)->type();
  if (!given || !type.ranked) return std::nullopt;
  const auto rank = static_cast<size_t>(type.rank());
  if (pad.input(3) == nullptr) return given->size() == 2 * rank ? given : std::nullopt;
  const auto axes = constant_ints(pad.input(3));
  if (!axes || given->size() != 2 * axes->size()) return std::nullopt;
  std::vector<int64_t> pads(2 * rank, 0);
  for (size_t i = 0; i < axes->size(); ++i) {
    const int64_t axis = (*axes)[i] + ((*axes)[i] < 0 ? type.rank() : 0);
    if (axis < 0 || axis >= type.rank()) return std::nullopt;
    pads[static_cast<size_t>(axis)] = (*given)[i];
    pads[static_cast<size_t>(axis) + rank] = (*given)[i + axes->size()];
  }
  return pads;
}

bool pads_with_zeros(const Node& pad) {
  if (pad.get(attributes::Pad::mode) != "constant") return false;
  return pad.input(2) == nullptr || is_filled_with(*pad.input(2), 0.0) ||
         is_filled_with(*pad.input(2), -0.0);
}

// Returns the convolution's pads with the node's added; empty when that is not legal.
std::vector<int64_t> joined_pads(const Node& conv, const Node& pad) {
  const std::string auto_pad = conv.get(attributes::Window::auto_pad);
  const auto added = pads_of_axes(pad);
  if (!added || (auto_pad != "NOTSET" && auto_pad != "VALID")) return {};
  const size_t rank = added->size() / 2;
  const bool is_spatial = rank > 2 && (*added)[0] == 0 && (*added)[1] == 0 && (*added)[rank] == 0 &&
                          (*added)[rank + 1] == 0;
  if (!is_spatial || std::any_of(added->begin(), added->end(), [](int64_t pad) { return pad < 0; }))
    return {};
  std::vector<int64_t> pads = conv.get(attributes::Strided::pads);
  if (pads.empty()) pads.assign(2 * (rank - 2), 0);
  if (pads.size() != 2 * (rank - 2)) return {};
  for (size_t i = 0; i < rank - 2; ++i) {
    pads[i] += (*added)[i + 2];
    pads[i + rank - 2] += (*added)[i + rank + 2];
  }
  return pads;
}

Result<bool> fold_pads(Graph& graph) {
  Editor editor(graph);
  bool changed = false;
  for (Node& conv : graph.nodes()) {
    Node* pad = conv.op() == Op::kConv ? conv.input(0)->producer() : nullptr;
    if (pad == nullptr || pad->op() != Op::kPad || !(pad->placement == conv.placement) ||
        !pads_with_zeros(*pad))
      continue;
    std::vector<int64_t> pads = joined_pads(conv, *pad);
    if (pads.empty()) continue;
    conv.remove(attributes::Window::auto_pad);
    conv.set(attributes::Strided::pads, std::move(pads));
    conv.set_input(0, pad->input(0));
    conv.add_origins(pad->origins());
    editor.erase_unused(*pad);
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> fold_pad_into_conv(Graph& root, const Options&) {
  return on_every_graph(root, fold_pads);
}

}  // namespace sluice
