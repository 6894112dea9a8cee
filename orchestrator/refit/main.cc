#include <unistd.h>

#include "orchestrator/program_main.h"
#include "orchestrator/refit/refit.h"
#include "orchestrator/refit/usage.h"

namespace {

using namespace sluice;

Result<int> run(const CommandLine& line) {
  if (line.text("-o") == "-" && isatty(STDOUT_FILENO)) {
    return make_error(ErrorCode::kUsage, "a compiled model is not written to a terminal")
        .with_hint("name a file with -o FILE");
  }
  RefitRequest request{.base = line.text("<base>"),
                       .weights = line.text("--weights"),
                       .output = line.text("-o"),
                       .options = {},
                       .quiet = line.flag("--quiet"),
                       .error_json = line.text("--error-format") == "json"};
  SLUICE_ASSIGN(request.options, stage_options(line));
  return refit(request);
}

}  // namespace

int main(int argc, char** argv) {
  return program_main(argc, argv, {"sluice-refit", [] { return std::string(kRefitUsage); }, run});
}
