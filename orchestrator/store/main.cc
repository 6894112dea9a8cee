#include "common/base/command_line.h"
#include "common/base/memory.h"
#include "common/base/program.h"
#include "orchestrator/report.h"
#include "orchestrator/store/cache.h"
#include "orchestrator/store/usage.h"

namespace {

sluice::Result<int> run(int argc, char** argv, bool& error_json) {
  SLUICE_ASSIGN(const sluice::CommandLine line,
                sluice::CommandLine::parse(sluice::kCacheUsage, argc, argv));
  if (const auto answered = sluice::answer_request(line, "sluice-cache", sluice::kCacheUsage))
    return *answered;
  error_json = line.text("--error-format") == "json";
  return sluice::run_cache_command(line);
}

}  // namespace

int main(int argc, char** argv) {
  sluice::begin_program();
  bool error_json = false;
  const sluice::Result<int> result =
      sluice::program_within_memory([&] { return run(argc, argv, error_json); });
  return sluice::exit_code_of("sluice-cache", result, error_json);
}
