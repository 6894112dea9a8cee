#include "common/eval/steps.h"

#include <algorithm>
#include <map>
#include <vector>

#include "common/ops/attributes.h"
#include "common/ops/einsum_equation.h"

namespace sluice {
namespace {

uint64_t times(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

// Returns the product of the extents of all letters, for each operand. Terms that do not fit take
// no steps: the kernel then fails at once.
uint64_t einsum_steps(const Node& node) {
  std::vector<int64_t> ranks;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Value* input = node.input(i);
    if (input == nullptr || !input->type().is_fixed()) return 0;
    ranks.push_back(input->type().rank());
  }
  const auto equation = read_einsum(node.get(attributes::Einsum::equation), ranks);
  if (!equation) return 0;
  std::map<char, int64_t> extents;
  for (size_t i = 0; i < ranks.size(); ++i) {
    for (size_t axis = 0; axis < equation->operands[i].size(); ++axis) {
      int64_t& extent = extents[equation->operands[i][axis]];
      extent = std::max(extent, node.input(i)->type().dims[axis].value);
    }
  }
  uint64_t steps = node.input_count();
  for (const auto& [letter, extent] : extents) steps = times(steps, static_cast<uint64_t>(extent));
  return steps;
}

uint64_t roi_align_steps(const Node& node) {
  const Value* x = node.input_count() == 0 ? nullptr : node.input(0);
  if (x == nullptr || !x->type().is_fixed() || x->type().extents()->size() != 4 ||
      !node.output(0).type().is_fixed())
    return 0;
  const std::vector<int64_t> dims = *x->type().extents();
  const int64_t ratio = node.get(attributes::RoiAlign::sampling_ratio);
  const uint64_t samples =
      ratio > 0 ? times(static_cast<uint64_t>(ratio), static_cast<uint64_t>(ratio))
                : times(static_cast<uint64_t>(dims[2]) + 2, static_cast<uint64_t>(dims[3]) + 2);
  return times(samples, static_cast<uint64_t>(node.output(0).type().element_count().value_or(0)));
}

// Counts every gram of every length at every distance.
uint64_t tf_idf_steps(const Node& node) {
  const Value* x = node.input_count() == 0 ? nullptr : node.input(0);
  if (x == nullptr || !x->type().is_fixed() || x->type().extents()->empty()) return 0;
  const auto columns = static_cast<uint64_t>(x->type().extents()->back());
  const std::vector<int64_t> counts = node.get(attributes::TfIdfVectorizer::ngram_counts);
  const auto lengths = std::min<uint64_t>(columns, counts.size());
  return times(times(static_cast<uint64_t>(x->type().element_count().value_or(0)), columns),
               lengths);
}

}  // namespace

uint64_t hidden_steps(const Node& node) {
  if (node.output_count() == 0) return 0;
  if (node.op() == Op::kEinsum) return einsum_steps(node);
  if (node.op() == Op::kTfIdfVectorizer) return tf_idf_steps(node);
  return node.op() == Op::kRoiAlign ? roi_align_steps(node) : 0;
}

}  // namespace sluice
