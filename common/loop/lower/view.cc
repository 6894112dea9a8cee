// Operators whose result is their input's elements in the same order under another shape, and
// permutations of axes.
#include <algorithm>

#include "common/loop/lower/families.h"
#include "common/loop/lower/reasons.h"
#include "common/ops/attributes.h"
#include "common/ops/of_shapes.h"

namespace sluice::loop {
namespace {

// Splits both shapes into runs of dims with equal numbers of elements, so that an index is divided
// only where dims are really split or joined:
//
//   [B, S, 768] -> [B, S, 12, 64]: {B} {S} {768 = 12 * 64}
Result<InstructionId> reshape(Lowering& l, const Node& node, size_t, const Index& index) {
  const Value& x = *node.input(0);
  const Index to = l.extents(node.output()), from = l.extents(x);
  Index own(from.size(), l.number(0));
  size_t i = 0, k = 0;
  while (i < from.size() || k < to.size()) {
    Index from_run, to_run, to_index;
    ExpressionId from_count = l.number(1), to_count = l.number(1);
    const size_t first = i;
    do {  // takes one dim more on the side that has fewer elements so far
      const bool take_from =
          k == to.size() ||
          (i < from.size() && l.table().bounds(l.table().subtract(to_count, from_count)).low >= 0 &&
           !(to_count == from_count && !to_run.empty()));
      if (take_from && i < from.size()) {
        from_run.push_back(from[i]);
        from_count = l.table().multiply(from_count, from[i++]);
      } else {
        to_run.push_back(to[k]);
        to_index.push_back(index[k]);
        to_count = l.table().multiply(to_count, to[k++]);
      }
    } while (from_count != to_count && (i < from.size() || k < to.size()));
    const Index run = l.unflatten(l.flatten(to_index, to_run), from_run);
    std::copy(run.begin(), run.end(), own.begin() + static_cast<std::ptrdiff_t>(first));
  }
  return l.element(x, own);
}

Result<InstructionId> transpose(Lowering& l, const Node& node, size_t, const Index& index) {
  const std::vector<int64_t> order = node.get(attributes::Transpose::perm);
  Index own(index.size());
  for (size_t i = 0; i < index.size(); ++i) {
    const size_t axis = order.empty() ? index.size() - 1 - i : static_cast<size_t>(order[i]);
    own[axis] = index[i];
  }
  return l.element(*node.input(0), own);
}

Result<InstructionId> expand(Lowering& l, const Node& node, size_t, const Index& index) {
  return l.broadcast_element(node, 0, index);
}

std::string expand_reason(const Node& node) {
  const std::vector<Dim>&x = node.input(0)->type().dims, &y = node.output().type().dims;
  for (size_t axis = 0; axis < x.size(); ++axis) {
    const bool is_one = x[axis].is_fixed() && x[axis].value == 1;
    if (!is_one && x[axis] != y[y.size() - x.size() + axis])
      return "whether a dim is expanded is known only while running";
  }
  if (!is_of_shapes(*node.input(1))) return "the shape to expand to is data of the run";
  return {};
}

constexpr ElementKinds kAll = ElementKinds::kNumbersAndNarrow;
constexpr LoweringRow kViewRows[] = {
    {Op::kReshape, nullptr, reshape, nullptr, kAll},
    {Op::kFlatten, nullptr, reshape, nullptr, kAll},
    {Op::kSqueeze, nullptr, reshape, nullptr, kAll},
    {Op::kUnsqueeze, nullptr, reshape, nullptr, kAll},
    {Op::kTranspose, nullptr, transpose, nullptr, kAll},
    {Op::kExpand, expand_reason, expand, nullptr, kAll},
};

}  // namespace

std::span<const LoweringRow> view_rows() { return kViewRows; }

}  // namespace sluice::loop
