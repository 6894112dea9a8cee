#include <unistd.h>

#include "orchestrator/compile/arguments.h"
#include "orchestrator/compile/option_file.h"
#include "orchestrator/compile/to_onnx.h"
#include "orchestrator/compile/usage.h"
#include "orchestrator/program_main.h"

namespace {

using namespace sluice;

Result<int> run(const CommandLine& line) {
  if (line.text("-o") == "-" && !line.flag("--plan") && isatty(STDOUT_FILENO)) {
    return make_error(ErrorCode::kUsage, "a compiled model is not written to a terminal")
        .with_hint("name a file with -o FILE");
  }
  SLUICE_ASSIGN(const CompileRequest request, request_from(line));
  return request.format == GraphFormat::kOnnx ? compile_to_onnx(request) : compile(request);
}

}  // namespace

int main(int argc, char** argv) {
  return program_main(argc, argv,
                      {.name = "sluice-compile",
                       .usage = compile_usage,
                       .run = run,
                       .take_options = take_option_file});
}
