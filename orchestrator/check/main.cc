#include "orchestrator/check/check.h"
#include "orchestrator/check/usage.h"
#include "orchestrator/program_main.h"

namespace {

using namespace sluice;

Result<int> run(const CommandLine& line) {
  CheckRequest request{.input = line.text("<in>"),
                       .options = {},
                       .format = line.text("--format"),
                       .quiet = line.flag("--quiet"),
                       .error_json = line.text("--error-format") == "json"};
  if (request.format != "text" && request.format != "json") {
    return make_error(ErrorCode::kBadOption, "--format is '{}', it must be text or json",
                      request.format);
  }
  SLUICE_ASSIGN(request.options, stage_options(line));
  std::erase_if(request.options.non_semantic, [](const std::string& option) {
    return option == "--quiet" ||
           option.starts_with("--error-format=");  // they are for what check itself prints, too
  });
  return check(request);
}

}  // namespace

int main(int argc, char** argv) {
  return program_main(argc, argv, {"sluice-check", check_usage, run});
}
