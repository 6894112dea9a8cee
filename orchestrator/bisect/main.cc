#include <algorithm>

#include "common/base/json.h"
#include "orchestrator/bisect/bisect.h"
#include "orchestrator/bisect/usage.h"
#include "orchestrator/program_main.h"

namespace {

using namespace sluice;

Result<void> check_tolerance(const std::string& text) {
  const Result<Json> json = json_parse(text);
  if (json && json->number().value_or(-1) >= 0) return {};
  return make_error(ErrorCode::kBadOption, "--tolerance is '{}', it must be a number of at least 0",
                    text);
}

Result<int> run(const CommandLine& line) {
  BisectRequest request{.input = line.text("<in>"),
                        .options = {},
                        .bindings = line.list("--input"),
                        .sizes = line.list("--eval-dim"),
                        .seed = line.text("--random"),
                        .tolerance = line.text("--tolerance"),
                        .store = line.text("--store"),
                        .model = line.text("--model"),
                        .keep = line.text("--keep"),
                        .is_json = line.flag("--json"),
                        .quiet = line.flag("--quiet")};
  SLUICE_TRY(check_tolerance(request.tolerance));
  SLUICE_ASSIGN(request.options, stage_options(line));
  std::erase_if(request.options.non_semantic, [](const std::string& option) {
    return option == "--quiet" || option.starts_with("--error-format=");
  });
  return bisect(request);
}

}  // namespace

int main(int argc, char** argv) {
  return program_main(argc, argv, {"sluice-bisect", bisect_usage, run});
}
