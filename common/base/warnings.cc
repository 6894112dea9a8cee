#include "common/base/warnings.h"

#include <algorithm>
#include <string_view>

#include "fmt/format.h"

namespace sluice {
namespace {

// The plural nouns after "and N more", by Leniency.
constexpr std::string_view kPlurals[] = {
    "pieces without an output",
    "activations in another case",
    "classifiers with coefficients left over",
    "outputs that are not as declared",
    "values that are defined twice",
    "branches that fail when they are taken",
    "inputs of rank 3 or more",
    "domains that are imported twice",
    "operators of domains that are not imported",
    "empty lists of axes",
    "external tensors of length 0",
    "unknown attributes",
    "scales wider than the normalised dims",
};

}  // namespace

void Warnings::add(Leniency leniency, std::string text) {
  Kind& kind = kinds_[static_cast<size_t>(leniency)];
  ++kind.count;
  if (kind.kept.size() < kMaxOfAKind) kind.kept.push_back(std::move(text));
}

bool Warnings::empty() const {
  return std::ranges::all_of(kinds_, [](const Kind& kind) { return kind.count == 0; });
}

std::vector<std::string> Warnings::lines() const {
  static_assert(std::size(kPlurals) == std::tuple_size_v<decltype(kinds_)>);
  std::vector<std::string> lines;
  for (size_t i = 0; i < kinds_.size(); ++i) {
    lines.insert(lines.end(), kinds_[i].kept.begin(), kinds_[i].kept.end());
    const size_t more = kinds_[i].count - kinds_[i].kept.size();
    if (more > 0) lines.push_back(fmt::format("and {} more {}", more, kPlurals[i]));
  }
  return lines;
}

}  // namespace sluice
