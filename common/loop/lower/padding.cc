// Pad and CenterCropPad: an element of the input at the same place but for an offset, or, outside,
// a constant or an element that the mode names.
#include <algorithm>
#include <optional>

#include "common/loop/lower/families.h"
#include "common/loop/lower/operands.h"
#include "common/loop/lower/reasons.h"
#include "common/ops/attributes.h"

namespace sluice::loop {
namespace {

// ---- Pad

// The axes that the pads are of.
std::vector<size_t> padded_axes(const Node& node) {
  const size_t rank = node.output().type().dims.size();
  const auto named = Lowering::integers(node, 3);
  std::vector<size_t> axes;
  for (size_t i = 0; i < (named ? named->size() : rank); ++i)
    axes.push_back(named ? Lowering::axis_of((*named)[i], rank) : i);
  return axes;
}

// The pads of one axis.
struct AxisPads {
  ExpressionId before = -1;
  bool grows = true;              // a pad may be positive
  std::optional<int64_t> larger;  // of both, where they are known
};

// Reflections that are written out; more are a division.
constexpr int64_t kMaxReflections = 4;

// The place `at` reflected at both ends, once: as far as it lies outside, it then lies inside.
ExpressionId reflected_once(Lowering& l, ExpressionId at, ExpressionId last) {
  ExpressionTable& table = l.table();
  const ExpressionId distance = table.maximum(at, table.subtract(l.number(0), at));
  return table.minimum(distance, table.subtract(table.multiply(l.number(2), last), distance));
}

// The place in the input of the place `at`, which may lie outside of it. Repetitions are folded
// back by their period; where pads are known and short, reflections need no division: each reaches
// one extent further, and one element alone is reflected nowhere.
ExpressionId folded(Lowering& l, const std::string& mode, const AxisPads& pads, ExpressionId at,
                    ExpressionId extent) {
  ExpressionTable& table = l.table();
  const ExpressionId zero = l.number(0), one = l.number(1);
  const ExpressionId last = table.subtract(extent, one);
  const auto limited = [&](ExpressionId place) {
    return table.maximum(table.minimum(place, last), zero);
  };
  if (mode == "edge") return limited(at);
  if (mode == "wrap") return table.modulo(at, table.maximum(extent, one));
  const int64_t minimum = table.bounds(last).low, reach = std::max<int64_t>(minimum, 1);
  const int64_t count = pads.larger ? (*pads.larger + reach - 1) / reach : kMaxReflections + 1;
  if (count <= kMaxReflections) {
    for (int64_t i = 0; i < count; ++i) at = reflected_once(l, at, last);
    return minimum >= 1 ? at : limited(at);
  }
  const ExpressionId period = table.maximum(table.multiply(l.number(2), last), one);
  const ExpressionId place = table.modulo(at, period);
  return table.minimum(place, table.subtract(period, place));
}

Result<AxisPads> pads_of(Lowering& l, const Node& node, size_t place, size_t count) {
  if (const auto pads = Lowering::integers(node, 1)) {
    const int64_t before = (*pads)[place], after = (*pads)[place + count];
    const int64_t larger = std::max<int64_t>({before, after, 0});
    return AxisPads{l.number(before), larger > 0, larger};
  }
  SLUICE_ASSIGN(const Id before, integer_at(l, node, 1, place));
  return AxisPads{l.as_index(before, INT64_MIN, INT64_MAX), true, std::nullopt};
}

Result<Id> pad(Lowering& l, const Node& node, size_t, const Index& index) {
  const Value& x = *node.input(0);
  const std::string mode = node.get(attributes::Pad::mode);
  const std::vector<size_t> axes = padded_axes(node);
  Index own = index;
  std::vector<Guard> guards;
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = axes[i];
    const ExpressionId extent = l.extent(x, axis);
    SLUICE_ASSIGN(const AxisPads pads, pads_of(l, node, i, axes.size()));
    own[axis] = l.table().subtract(index[axis], pads.before);
    if (!pads.grows) continue;
    if (mode != "constant") own[axis] = folded(l, mode, pads, own[axis], extent);
    guards.push_back(mode == "constant" ? Guard{own[axis], extent} : l.not_empty(extent));
  }
  Id fill = -1;
  if (node.input(2) != nullptr) {
    SLUICE_ASSIGN(fill, l.element(*node.input(2), l.first(*node.input(2))));
  }
  return l.element_if(x, own, std::move(guards), fill);
}

std::string pad_reason(const Node& node) {
  if (node.input(3) != nullptr && !Lowering::integers(node, 3))
    return "the axes are known only while running";
  if (node.input(2) != nullptr && node.input(2)->type().element_count() != 1)
    return "the constant is not one element";
  return node.input(1)->type().dims.size() == 1 ? std::string() : "the pads have not one dim";
}

// ---- CenterCropPad

// Half of what is added lies before, or half of what is removed; the smaller half.
Result<Id> center_crop_pad(Lowering& l, const Node& node, size_t, const Index& index) {
  const Value& x = *node.input(0);
  ExpressionTable& table = l.table();
  Index own = index;
  std::vector<Guard> guards;
  for (size_t axis = 0; axis < index.size(); ++axis) {
    const ExpressionId from = l.extent(x, axis), to = l.extent(node.output(), axis);
    if (from == to) continue;
    const ExpressionId zero = l.number(0), two = l.number(2);
    const ExpressionId added = table.floor_divide(table.subtract(to, from), two);
    const ExpressionId removed = table.floor_divide(table.subtract(from, to), two);
    own[axis] = table.add(table.subtract(index[axis], table.maximum(added, zero)),
                          table.maximum(removed, zero));
    guards.push_back({own[axis], from});
  }
  return l.element_if(x, own, std::move(guards));
}

constexpr LoweringRow kPaddingRows[] = {
    {Op::kPad, pad_reason, pad},
    {Op::kCenterCropPad, nullptr, center_crop_pad},
};

}  // namespace

std::span<const LoweringRow> padding_rows() { return kPaddingRows; }

}  // namespace sluice::loop
