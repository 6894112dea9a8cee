#include "common/tools/diff_tool.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "common/base/json.h"
#include "common/graphfile/graphfile.h"
#include "common/stage/rebind.h"
#include "common/tools/diff.h"
#include "common/tools/diff_values.h"

namespace sluice {
namespace {

// Returns the first `limit` of them.
template <typename T>
std::span<const T> first_of(const std::vector<T>& all, size_t limit) {
  return std::span(all).first(limit == 0 ? all.size() : std::min(all.size(), limit));
}

std::string names_text(const std::vector<std::string>& names) {
  constexpr size_t kShown = 3;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += (i > 0 ? ", " : "") + names[i];
  return names.size() > kShown ? text + ", ..." : text;
}

// JSON has no number that is not finite: it is a text.
Json number_json(double number) {
  return std::isfinite(number) ? Json(number) : Json(fmt::format("{}", number));
}

Json difference_json(const ValueDifference& difference) {
  Json json;
  json.set("name", difference.name);
  json.set("text", difference.text);
  if (!difference.numbers) return json;
  const FurthestNumbers& numbers = *difference.numbers;
  json.set("a", number_json(numbers.a));
  json.set("b", number_json(numbers.b));
  json.set("apart", number_json(numbers.apart));
  json.set("largest", numbers.largest);
  json.set("at", Json::Array(numbers.at.begin(), numbers.at.end()));
  return json;
}

std::string differences_json(const ValueDifferences& found, size_t limit) {
  Json json, differing{Json::Array{}};
  json.set("compared", uint64_t{found.compared});
  json.set("differ", uint64_t{found.differing.size()});
  for (const ValueDifference& difference : first_of(found.differing, limit))
    differing.push(difference_json(difference));
  json.set("values", std::move(differing));
  json.set("only_a", Json::Array(found.only_a.begin(), found.only_a.end()));
  json.set("only_b", Json::Array(found.only_b.begin(), found.only_b.end()));
  return json_dump(json, 2) + "\n";
}

Result<ValueDifferences> compare(const DiffRequest& request) {
  if (std::filesystem::is_directory(request.b))
    return compare_folders(request.a, request.b, request.tolerance);
  SLUICE_ASSIGN(Module graph, read_graph_file(request.b));
  SLUICE_TRY(find_constants(graph, request.store, request.model));
  return compare_with_evaluation(request.a, graph, request.tolerance);
}

}  // namespace

Result<Differences> diff_graphs(const DiffRequest& request) {
  SLUICE_ASSIGN(const Module a, read_graph_file(request.a));
  SLUICE_ASSIGN(const Module b, read_graph_file(request.b));
  const std::vector<std::string> lines = find_differences(a, b, request.ignores_constants);
  std::string text;
  for (const std::string& line : first_of(lines, request.limit)) text += line + "\n";
  if (request.limit != 0 && lines.size() > request.limit)
    text += fmt::format("and {} more\n", lines.size() - request.limit);
  return Differences{text, !lines.empty()};
}

Result<Differences> diff_values(const DiffRequest& request) {
  SLUICE_ASSIGN(const ValueDifferences found, compare(request));
  if (found.compared == 0)
    return make_error(ErrorCode::kBadBinding, "'{}' and '{}' have no value in common", request.a,
                      request.b);
  const bool any = !found.differing.empty();
  if (request.is_json) return Differences{differences_json(found, request.limit), any};
  std::string text;
  for (const ValueDifference& difference : first_of(found.differing, request.limit))
    text += fmt::format("~ {}: {}\n", difference.name, difference.text);
  text += fmt::format("{} values compared, {} differ", found.compared, found.differing.size());
  for (const auto& [side, names] : {std::pair("a", &found.only_a), std::pair("b", &found.only_b)}) {
    if (!names->empty())
      text += fmt::format("; {} only in <{}>: {}", names->size(), side, names_text(*names));
  }
  return Differences{text + "\n", any};
}

}  // namespace sluice
