#include "common/base/near_names.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sluice {
namespace {

constexpr size_t kMaxProposed = 3;

// Returns Levenshtein's distance, computed one row at a time.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t change = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({change, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string_view> near_names(std::string_view typed,
                                         std::span<const std::string_view> names) {
  std::vector<std::pair<size_t, std::string_view>> found;
  for (const std::string_view name : names) {
    const size_t away = distance(name, typed);
    if (away <= std::max<size_t>(1, name.size() / 3)) found.emplace_back(away, name);
  }
  std::ranges::stable_sort(found, {}, &std::pair<size_t, std::string_view>::first);
  std::vector<std::string_view> nearest;
  for (const auto& [away, name] : found)
    if (nearest.size() < kMaxProposed) nearest.push_back(name);
  return nearest;
}

std::string near_names_hint(std::string_view typed, std::span<const std::string_view> names,
                            std::string_view otherwise) {
  std::string hint;
  for (const std::string_view name : near_names(typed, names)) {
    hint += hint.empty() ? "did you mean '" : " or '";
    hint.append(name).append("'");
  }
  return hint.empty() ? std::string(otherwise) : hint + "?";
}

}  // namespace sluice
