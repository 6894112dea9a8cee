#include <charconv>

#include "common/base/command_line.h"
#include "common/base/memory.h"
#include "common/base/program.h"
#include "orchestrator/conformance/conformance.h"
#include "orchestrator/conformance/usage.h"
#include "orchestrator/process/process.h"
#include "orchestrator/report.h"

namespace {

using sluice::CommandLine;
using sluice::ErrorCode;

sluice::Result<int> number_from(const CommandLine& line, const char* name, int low, int high) {
  const std::string text = line.text(name);
  int number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size() || number < low || number > high) {
    return make_error(ErrorCode::kBadOption, "{} is '{}', expected a whole number from {} to {}",
                      name, text, low, high);
  }
  return number;
}

sluice::Result<int> run(int argc, char** argv) {
  SLUICE_ASSIGN(const CommandLine line, CommandLine::parse(sluice::kConformanceUsage, argc, argv));
  if (const auto answered =
          sluice::answer_request(line, "sluice-conformance", sluice::kConformanceUsage))
    return *answered;
  sluice::ConformanceRequest request{.folder = line.text("<folder>"),
                                     .report = line.text("--report"),
                                     .profile = line.text("--profile"),
                                     .opt_level = line.text("--opt-level"),
                                     .quiet = line.flag("--quiet")};
  SLUICE_ASSIGN(request.jobs, number_from(line, "-j", 0, 1000));
  SLUICE_ASSIGN(request.timeout, number_from(line, "--timeout", 1, 86400));
  return sluice::run_conformance(request);
}

}  // namespace

int main(int argc, char** argv) {
  sluice::begin_program();
  sluice::catch_interrupts();
  const sluice::Result<int> result = sluice::program_within_memory([&] { return run(argc, argv); });
  sluice::finish_interrupt();
  return sluice::exit_code_of("sluice-conformance", result);
}
