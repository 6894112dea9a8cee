#include "common/ir/op.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice {
namespace {

struct Row {
  std::string_view name;
  Domain domain;
};

constexpr Row kRows[] = {
#define SLUICE_OP(name, domain) {#name, Domain::domain},
#include "common/ir/op.def"
#undef SLUICE_OP
};

constexpr int kCount = std::size(kRows);

std::array<std::pair<std::string_view, Op>, kCount> sorted_names() {
  std::array<std::pair<std::string_view, Op>, kCount> names;
  for (int i = 0; i < kCount; ++i) names[i] = {kRows[i].name, static_cast<Op>(i)};
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

int op_count() { return kCount; }
std::string_view op_name(Op op) { return kRows[static_cast<size_t>(op)].name; }
Domain op_domain(Op op) { return kRows[static_cast<size_t>(op)].domain; }

std::optional<Op> op_from_name(std::string_view name) {
  static const auto kNames = sorted_names();
  const auto found = std::lower_bound(kNames.begin(), kNames.end(), std::pair(name, Op{}));
  if (found == kNames.end() || found->first != name) return std::nullopt;
  return found->second;
}

}  // namespace sluice
