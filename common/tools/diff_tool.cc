#include "common/tools/diff_tool.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "common/graphfile/graphfile.h"
#include "common/stage/rebind.h"
#include "common/tools/diff.h"
#include "common/tools/diff_values.h"

namespace sluice {
namespace {

// Returns the first `limit` lines.
std::string lines_text(const std::vector<std::string>& lines, size_t limit) {
  std::string text;
  const size_t shown = limit == 0 ? lines.size() : std::min(lines.size(), limit);
  for (const std::string& line : std::span(lines).first(shown)) text += line + "\n";
  return text;
}

std::string names_text(const std::vector<std::string>& names) {
  constexpr size_t kShown = 3;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += (i > 0 ? ", " : "") + names[i];
  return names.size() > kShown ? text + ", ..." : text;
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
  std::string text = lines_text(lines, request.limit);
  if (request.limit != 0 && lines.size() > request.limit)
    text += fmt::format("and {} more\n", lines.size() - request.limit);
  return Differences{text, !lines.empty()};
}

Result<Differences> diff_values(const DiffRequest& request) {
  SLUICE_ASSIGN(const ValueDifferences found, compare(request));
  if (found.compared == 0)
    return make_error(ErrorCode::kBadBinding, "'{}' and '{}' have no value in common", request.a,
                      request.b);
  std::string text = lines_text(found.lines, request.limit);
  text += fmt::format("{} values compared, {} differ", found.compared, found.lines.size());
  for (const auto& [side, names] : {std::pair("a", &found.only_a), std::pair("b", &found.only_b)}) {
    if (!names->empty())
      text += fmt::format("; {} only in <{}>: {}", names->size(), side, names_text(*names));
  }
  return Differences{text + "\n", !found.lines.empty()};
}

}  // namespace sluice
