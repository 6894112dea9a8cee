#include "common/base/files.h"
#include "common/base/log.h"
#include "common/graphfile/graphfile.h"
#include "common/text/text.h"
#include "common/tools/om_text.h"
#include "common/tools/tool_main.h"
#include "common/tools/with_bytes.h"

namespace {

using namespace sluice;

constexpr char kUsage[] =
    R"(Makes a graph file (.sg) of a textual graph, or a compiled model (.om) of a ModelDef's text.

Usage:
  sluice-as [options] [--with=FILE]... [<in>]
  sluice-as (--help | --version)

Reads <in>, or standard input when it is absent or "-": what sluice-show printed, or something like
it.

Options:
  -o FILE             Write to FILE [default: -].
  --with=FILE         Take the bytes of constants, by digest, from the graph file FILE; for a
                      compiled model its segments from the compiled model FILE. May be repeated for
                      graph files.
  --segments=inline   Put the bytes of all constants into the file.
)";

void warn_of_missing_bytes(const Module& module) {
  const size_t missing = count_missing_bytes(module);
  if (missing == 0) return;
  log_warning("sluice-as",
              fmt::format("{} large constant{} only a digest; --with=FILE.sg gives the bytes",
                          missing, missing == 1 ? " has" : "s have"));
}

Result<ExitClass> run(const CommandLine& line) {
  SLUICE_TRY(check_input(line));
  SLUICE_TRY(check_binary_output(line));
  SLUICE_ASSIGN(const std::string text, read_text(input_path(line)));
  const std::string name = input_path(line) == "-" ? "standard input" : input_path(line);
  if (is_model_text(text)) {
    SLUICE_TRY(write_om_of_text(text, name, line.text("--with"), output_path(line)));
    return ExitClass::kDone;
  }
  SLUICE_ASSIGN(Module module, parse_module(text, name));
  for (const std::string& path : line.list("--with")) SLUICE_TRY(take_bytes(module, path));
  warn_of_missing_bytes(module);
  SLUICE_TRY(write_graph_file(module, output_path(line),
                              {.inline_segments = line.text("--segments") == "inline"}));
  return ExitClass::kDone;
}

}  // namespace

int main(int argc, char** argv) { return tool_main(argc, argv, {"sluice-as", kUsage, run, true}); }
