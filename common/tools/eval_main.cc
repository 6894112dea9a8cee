#include "common/base/options.h"
#include "common/graphfile/graphfile.h"
#include "common/stage/rebind.h"
#include "common/tools/eval_tool.h"
#include "common/tools/tool_main.h"
#include "common/tools/tool_numbers.h"
#include "common/verify/verify.h"

namespace {

using namespace sluice;

constexpr char kUsage[] = R"(Evaluates a graph of any level with the reference evaluator.

Usage:
  sluice-eval [options] [--input=BINDING]... [--dim=NAME=SIZE]... [<in>]
  sluice-eval (--help | --version)

Reads the graph <in>, or standard input when it is absent or "-". Prints a line for each output.

Options:
  --input=BINDING     NAME=FILE binds the input NAME to a .npy, .npz or .pb file; FILE.npz binds
                      each member.
  --random=SEED       Fill the other inputs by SEED, as sluice-loader does. Plain --random
                      is --random=0.
  --dim=NAME=SIZE     The size of a dim that the graph leaves open, for random inputs; 1 when not
                      given.
  --output-dir=DIR    Write each output to DIR/NAME.npy ('/' in a name becomes '_'), maps to
                      DIR/NAME.npz.
  --dump-values=DIR   Write every value that is made on the way, bodies' too, to DIR as .npy;
                      DIR/values.txt lists them.
  --store=DIR         The folder of constants that the graph was written with.
  --model=FILE        Take the constants from this copy of the model file, external data from the
                      folder it is in.
  --max-constant-bytes=N  Most bytes of one constant, or of what is made on the way to it
                      [default: 1073741824].
)";

Result<ExitClass> run(const CommandLine& line) {
  SLUICE_TRY(check_input(line));
  EvalRequest request{line.list("--input"),
                      std::nullopt,
                      {},
                      line.text("--output-dir"),
                      line.text("--dump-values")};
  if (line.has("--random")) {
    SLUICE_ASSIGN(request.random, whole_number(line, "--random"));
  }
  for (const std::string& text : line.list("--dim")) {
    SLUICE_ASSIGN(auto dim, named_size(text));
    request.dims.insert(std::move(dim));
  }
  SLUICE_ASSIGN(Module module, read_graph_file(input_path(line)));
  SLUICE_TRY(find_constants(module, line.text("--store"), line.text("--model")));
  Options options;
  SLUICE_TRY(options.set("max-constant-bytes", line.text("--max-constant-bytes")));
  SLUICE_TRY(verify_constant_sizes(module, options.max_constant_bytes()));
  SLUICE_ASSIGN(const std::string text, evaluate_to_files(module, request));
  SLUICE_TRY(write_tool_text(line, text));
  return ExitClass::kDone;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {  // docopt does not support optional values
    static char plain[] = "--random=0";
    if (std::string_view(argv[i]) == "--random") argv[i] = plain;
  }
  return tool_main(argc, argv, {"sluice-eval", kUsage, run});
}
