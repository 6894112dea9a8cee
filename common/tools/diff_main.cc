#include "common/tools/diff_tool.h"
#include "common/tools/tool_main.h"
#include "common/tools/tool_numbers.h"

namespace {

using namespace sluice;

constexpr char kUsage[] =
    R"(Compares two graph files by structure, or the values of two runs, and names what differs.

Usage:
  sluice-diff [options] [--values] <a> <b>
  sluice-diff (--help | --version)

One of <a> and <b> may be "-", standard input. Lines begin with - (only in <a>), + (only in <b>) or
~ (in both: a | b), the first divergence first. Names of nodes, origins and where constants lie do
not count. Exits 7 when there is a difference.

With --values, <a> is a folder that sluice run --dump-values or sluice eval --dump-values wrote, and
<b> another one, or a graph file, which is evaluated on the inputs in <a>. Values are paired by
name; names that only one side has are counted. A line has the two numbers that are furthest
apart, their distance, its share of the largest number in <b>, and the cosine between both;
--tolerance=0 prints one for each value that differs. Floats are compared across dtypes.

Options:
  --ignore-constants  Do not compare values of constants, only their types.
  --values            Compare values instead of graphs.
  --tolerance=R       Values differ when they are further apart than R times the largest in <b>
                      [default: 1e-4].
  --store=DIR         With --values: the folder of constants that the graph <b> was written with.
  --model=FILE        With --values: take the constants of <b> from this copy of the model file,
                      external data from the folder it is in.
  --format=FMT        text, or with --values json: an object with the differing values as a list
                      [default: text].
  -o FILE             Write to FILE [default: -].
  --limit=N           Print at most N lines; 0 prints all [default: 50].
)";

Result<ExitClass> run(const CommandLine& line) {
  const bool of_values = line.flag("--values");
  DiffRequest request{line.text("<a>"), line.text("<b>")};
  if (!of_values && request.a == "-" && request.b == "-")
    return make_error(ErrorCode::kUsage, "only one of <a> and <b> may be \"-\"");
  request.ignores_constants = line.flag("--ignore-constants");
  SLUICE_ASSIGN(request.limit, whole_number(line, "--limit", 999'999'999));
  if (of_values) {
    SLUICE_ASSIGN(request.tolerance, number_from_0(line, "--tolerance"));
  }
  const std::string format = line.text("--format");
  request.is_json = format == "json";
  if (format != "text" && !(request.is_json && of_values))
    return make_error(ErrorCode::kBadOption, "--format is '{}', it must be text{}", format,
                      of_values ? " or json" : "; with --values it may be json");
  request.store = line.text("--store"), request.model = line.text("--model");
  SLUICE_ASSIGN(const Differences found, of_values ? diff_values(request) : diff_graphs(request));
  SLUICE_TRY(write_tool_text(line, found.text));
  return found.any ? ExitClass::kFailed : ExitClass::kDone;
}

}  // namespace

int main(int argc, char** argv) { return tool_main(argc, argv, {"sluice-diff", kUsage, run}); }
