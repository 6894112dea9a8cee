#include "common/base/command_line.h"
#include "common/base/memory.h"
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
    return make_error(ErrorCode::kBadOption, "--format is '{}', it must be text or json",
                      request.format);
  }
  SLUICE_ASSIGN(request.options, sluice::stage_options(line));
  std::erase_if(request.options.non_semantic, [](const std::string& option) {
    return option == "--quiet" ||
           option.starts_with("--error-format=");  // they are for what check itself prints, too
  });
  return request;
}

sluice::Result<int> run(int argc, char** argv, bool& error_json) {
  const std::string usage = sluice::check_usage();
  SLUICE_ASSIGN(const CommandLine line, CommandLine::parse(usage, argc, argv));
  if (const auto answered = sluice::answer_request(line, "sluice-check", usage)) return *answered;
  error_json = line.text("--error-format") == "json";
  SLUICE_ASSIGN(const sluice::CheckRequest request, request_from(line));
  return sluice::check(request);
}

}  // namespace

int main(int argc, char** argv) {
  sluice::begin_program();
  sluice::catch_interrupts();
  bool error_json = false;
  const sluice::Result<int> result =
      sluice::program_within_memory([&] { return run(argc, argv, error_json); });
  sluice::finish_interrupt();
  return sluice::exit_code_of("sluice-check", result, error_json);
}
