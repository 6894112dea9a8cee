#include "common/graphfile/graphfile.h"
#include "common/tools/diff.h"
#include "common/tools/tool_main.h"

namespace {

using namespace sluice;

constexpr char kUsage[] = R"(Compares two graph files by structure, and says what is another by name.

Usage:
  sluice-diff [options] <a> <b>
  sluice-diff (--help | --version)

One of <a> and <b> may be "-", standard input. Lines begin with - (only in <a>), + (only in <b>) or ~ (in both:
a | b), the first divergence first. Names of nodes, origins and where constants lie do not count. Exits 7 when
there is a difference.

Options:
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

Result<ExitClass> run(const CommandLine& line) {
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
