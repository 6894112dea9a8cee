#include <cstdlib>
#include <filesystem>

#include "common/graphfile/graphfile.h"
#include "common/stage/rebind.h"
#include "common/tools/diff.h"
#include "common/tools/diff_values.h"
#include "common/tools/tool_main.h"

namespace {

using namespace sluice;

constexpr char kUsage[] = R"(Compares two graph files by structure, or the values of two runs, and says what is another by name.

Usage:
  sluice-diff [options] [--values] <a> <b>
  sluice-diff (--help | --version)

One of <a> and <b> may be "-", standard input. Lines begin with - (only in <a>), + (only in <b>) or ~ (in both:
a | b), the first divergence first. Names of nodes, origins and where constants lie do not count. Exits 7 when
there is a difference.

With --values, <a> is a folder that sluice run --dump-values or sluice eval --dump-values wrote, and <b> another one, or a
graph file, which is evaluated on the inputs in <a>. Values are paired by name; names that only one side has are counted.

Options:
  --values            Compare values instead of graphs.
  --tolerance=R       Values differ when they are further apart than R times the largest in <b> [default: 1e-4].
  --store=DIR         With --values: the folder of constants that the graph <b> was written with.
  --model=FILE        With --values: take the constants of <b> from this copy of the model file, external data from the
                      folder it is in.
  -o FILE             Write to FILE [default: -].
  --limit=N           Print at most N lines; 0 prints all [default: 50].
  --error-format=FMT  text or json [default: text].
)";

Result<size_t> limit_of(const CommandLine& line) {
  const std::string text = line.text("--limit");
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos) {
    return make_error(ErrorCode::kBadOption, "--limit is '{}', it must be a number", text);
  }
  return std::stoul(text) == 0 ? SIZE_MAX : std::stoul(text);
}

Result<double> tolerance_of(const CommandLine& line) {
  const std::string text = line.text("--tolerance");
  char* end = nullptr;
  const double tolerance = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != 0 || !(tolerance >= 0)) {
    return make_error(ErrorCode::kBadOption, "--tolerance is '{}', it must be a number of at least 0", text);
  }
  return tolerance;
}

std::string names_text(const std::vector<std::string>& names) {
  constexpr size_t kShown = 3;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i > 0 ? ", " : "") + names[i];
  return names.size() > kShown ? text + ", ..." : text;
}

Result<ExitClass> run_values(const CommandLine& line) {
  SLUICE_ASSIGN(const size_t limit, limit_of(line));
  SLUICE_ASSIGN(const double tolerance, tolerance_of(line));
  const std::string a = line.text("<a>"), b = line.text("<b>");
  ValueDifferences differences;
  if (std::filesystem::is_directory(b)) {
    SLUICE_ASSIGN(differences, compare_folders(a, b, tolerance));
  } else {
    SLUICE_ASSIGN(Module graph, read_graph_file(b));
    SLUICE_TRY(find_constants(graph, line.text("--store"), line.text("--model")));
    SLUICE_ASSIGN(differences, compare_with_evaluation(a, graph, tolerance));
  }
  if (differences.compared == 0) return make_error(ErrorCode::kBadBinding, "'{}' and '{}' have no value in common", a, b);
  std::string text;
  for (size_t i = 0; i < differences.lines.size() && i < limit; ++i) text += differences.lines[i] + "\n";
  text += fmt::format("{} values compared, {} differ", differences.compared, differences.lines.size());
  for (const auto& [side, names] : {std::pair("a", &differences.only_a), std::pair("b", &differences.only_b)}) {
    if (!names->empty()) text += fmt::format("; {} only in <{}>: {}", names->size(), side, names_text(*names));
  }
  SLUICE_TRY(write_tool_text(line, text + "\n"));
  return differences.lines.empty() ? ExitClass::kDone : ExitClass::kFailed;
}

Result<ExitClass> run(const CommandLine& line) {
  if (line.flag("--values")) return run_values(line);
  if (line.text("<a>") == "-" && line.text("<b>") == "-") return make_error(ErrorCode::kUsage, "only one of <a> and <b> may be \"-\"");
  SLUICE_ASSIGN(const size_t limit, limit_of(line));
  SLUICE_ASSIGN(const Module a, read_graph_file(line.text("<a>")));
  SLUICE_ASSIGN(const Module b, read_graph_file(line.text("<b>")));
  const std::vector<std::string> lines = find_differences(a, b);
  std::string text;
  for (size_t i = 0; i < lines.size() && i < limit; ++i) text += lines[i] + "\n";
  if (lines.size() > limit) text += fmt::format("and {} more\n", lines.size() - limit);
  SLUICE_TRY(write_tool_text(line, text));
  return lines.empty() ? ExitClass::kDone : ExitClass::kFailed;
}

}  // namespace

int main(int argc, char** argv) { return tool_main(argc, argv, {"sluice-diff", kUsage, run}); }
