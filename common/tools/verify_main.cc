#include "common/base/file_kind.h"
#include "common/base/log.h"
#include "common/graphfile/graphfile.h"
#include "common/stage/rebind.h"
#include "common/tools/tool_main.h"
#include "common/tools/verify_file.h"

namespace {

using namespace sluice;

constexpr char kUsage[] =
    R"(Checks a graph file (.sg) against the promises of its level, or a compiled model (.om).

Usage:
  sluice-verify [options] [<in>]
  sluice-verify (--help | --version)

Reads <in>, or standard input when it is absent or "-". Says nothing when all is well; exits 7 when
a graph breaks a rule, or when tasks of a compiled model that may run at the same time share bytes,
or use memory that is not theirs; 3 when the file, or with --segments a constant, cannot be read. A
symbolic part is checked at some small sizes; when it takes none of them, a line on standard error
says so.

Options:
  --level=LEVEL       Check for another level than the file's: typed, partitioned or lowered.
  --segments          Also hash the constants, or the weights of a compiled model.
  --weights=DIR       The folder of the weights of a compiled model that are in files, or the file
                      of combined weights; the folder `weight` beside the model when not given.
  --store=DIR         The folder of constants that the graph was written with.
  --model=FILE        Take the constants from this copy of the model file, external data from the
                      folder it is in.
  --memory            Print a line for each part of a compiled model: its arena, the most bytes
                      alive in it, the same with dense types, scratch bytes per worker.
)";

Result<ExitClass> run(const CommandLine& line) {
  SLUICE_TRY(check_input(line));
  SLUICE_ASSIGN(const InputBytes input, InputBytes::open(input_path(line)));
  if (file_kind(input.bytes) == FileKind::kCompiledModel) {
    if (line.has("--level"))
      return make_error(ErrorCode::kBadOption, "--level is for graphs, '{}' is a compiled model",
                        input.name);
    SLUICE_ASSIGN(
        const OmVerified verified,
        input.checked(verify_om(input.bytes, line.flag("--segments"),
                                {.model = input_path(line), .given = line.text("--weights")})));
    for (const std::string& part : verified.unchecked) log_warning("sluice-verify", part);
    if (line.flag("--memory")) SLUICE_TRY(write_tool_text(line, verified.figures));
    return ExitClass::kDone;
  }
  for (const char* option : {"--memory", "--weights"}) {
    if (line.has(option))
      return make_error(ErrorCode::kUsage, "{} is for compiled models, '{}' is a graph", option,
                        input.name);
  }
  SLUICE_ASSIGN(Module module, read_graph(input.bytes, input.owner, input.name));
  SLUICE_TRY(find_constants(module, line.text("--store"), line.text("--model")));
  SLUICE_TRY(verify_graph(module, line.text("--level"), line.flag("--segments")));
  return ExitClass::kDone;
}

}  // namespace

int main(int argc, char** argv) { return tool_main(argc, argv, {"sluice-verify", kUsage, run}); }
