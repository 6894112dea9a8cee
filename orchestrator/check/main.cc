#include "common/base/command_line.h"
#include "common/base/memory.h"
#include "common/base/options.h"
#include "common/base/program.h"
#include "orchestrator/check/check.h"
#include "orchestrator/check/usage.h"
#include "orchestrator/process/process.h"
#include "orchestrator/report.h"

namespace {

using sluice::CommandLine;
using sluice::ErrorCode;

sluice::Result<sluice::CheckRequest> request_from(const CommandLine& line) {
  sluice::CheckRequest request{.input = line.text("<in>"),
                               .options = {},
                               .format = line.text("--format"),
                               .quiet = line.flag("--quiet"),
                               .error_json = line.text("--error-format") == "json"};
  if (request.format != "text" && request.format != "json") {
    return make_error(ErrorCode::kBadOption, "--format is '{}', it must be text or json", request.format);
  }
  for (const sluice::OptionRow& row : sluice::option_table()) {
    for (const std::string& value : line.list(fmt::format("--{}", row.name))) {
      SLUICE_TRY(check_option_value(row, typed_value(row, value)));
      if (row.name != "error-format" && row.name != "quiet") request.options.push_back(option_argument(row, value));
    }
  }
  return request;
}

sluice::Result<int> run(int argc, char** argv, bool& error_json) {
  SLUICE_ASSIGN(const CommandLine line, CommandLine::parse(sluice::kCheckUsage, argc, argv));
  if (const auto answered = sluice::answer_wish(line, "sluice-check", sluice::kCheckUsage)) return *answered;
  error_json = line.text("--error-format") == "json";
  SLUICE_ASSIGN(const sluice::CheckRequest request, request_from(line));
  return sluice::check(request);
}

}  // namespace

int main(int argc, char** argv) {
  sluice::begin_program();
  sluice::catch_interrupts();
  bool error_json = false;
  const sluice::Result<int> result = sluice::program_within_memory([&] { return run(argc, argv, error_json); });
  sluice::finish_interrupt();
  return sluice::exit_code_of("sluice-check", result, error_json);
}
