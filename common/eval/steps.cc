#include "common/eval/steps.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>

#include "common/ops/attributes.h"

namespace sluice {
namespace {

uint64_t times(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

// Extents by subscript, with one product for all axes of "...".
struct Extents {
  std::map<char, uint64_t> letters;
  uint64_t ellipsis = 1;

  void widen(char letter, int64_t dim) {
    uint64_t& extent = letters[letter];
    extent = std::max(extent, static_cast<uint64_t>(dim));
  }
  // Returns false when the term does not fit the dims; the kernel then fails at once.
  bool take(const std::string& term, std::span<const int64_t> dims) {
    const size_t dots = std::min(term.find("..."), term.size());
    const std::string after_dots = dots == term.size() ? std::string() : term.substr(dots + 3);
    if (dims.size() < dots + after_dots.size() || (dots == term.size() && dims.size() != dots))
      return false;
    for (size_t i = 0; i < dots; ++i) widen(term[i], dims[i]);
    for (size_t i = 0; i < after_dots.size(); ++i)
      widen(after_dots[i], dims[dims.size() - after_dots.size() + i]);
    uint64_t between = 1;
    for (const int64_t dim : dims.subspan(dots, dims.size() - dots - after_dots.size()))
      between = times(between, static_cast<uint64_t>(dim));
    ellipsis = std::max(ellipsis, between);
    return true;
  }
  uint64_t product() const {
    uint64_t steps = ellipsis;
    for (const auto& [letter, extent] : letters) steps = times(steps, extent);
    return steps;
  }
};

uint64_t einsum_steps(const Node& node) {
  std::string equation = node.get(attributes::Einsum::equation);
  std::erase(equation, ' ');
  equation = equation.substr(0, equation.find("->"));
  Extents extents;
  size_t at = 0;
  for (size_t i = 0; i < node.input_count() && at <= equation.size(); ++i) {
    const Value* input = node.input(i);
    const size_t comma = std::min(equation.find(',', at), equation.size());
    if (input == nullptr || !input->type().is_fixed() ||
        !extents.take(equation.substr(at, comma - at), *input->type().extents()))
      return 0;
    at = comma + 1;
  }
  return times(extents.product(), node.input_count());
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
