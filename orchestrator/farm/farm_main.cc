#include "common/base/command_line.h"
#include "common/base/memory.h"
#include "common/base/program.h"
#include "orchestrator/farm/farm_command.h"
#include "orchestrator/farm/farm_usage.h"
#include "orchestrator/report.h"

namespace {

sluice::Result<int> run(int argc, char** argv, bool& error_json) {
  SLUICE_ASSIGN(const sluice::CommandLine line,
                sluice::CommandLine::parse(sluice::kFarmUsage, argc, argv));
  if (const auto answered = sluice::answer_request(line, "sluice-farm", sluice::kFarmUsage))
    return *answered;
  error_json = line.text("--error-format") == "json";
  return sluice::run_farm_command(line);
}

}  // namespace

int main(int argc, char** argv) {
  sluice::begin_program();
  bool error_json = false;
  const sluice::Result<int> result =
      sluice::program_within_memory([&] { return run(argc, argv, error_json); });
  return sluice::exit_code_of("sluice-farm", result, error_json);
}
