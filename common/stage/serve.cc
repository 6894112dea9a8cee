#include "common/stage/serve.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "common/base/memory.h"
#include "common/stage/failure.h"

namespace sluice {
namespace {

constexpr std::string_view kWorker = "sluice-worker";

// Options of a service, and those of sluice-worker that they become.
struct ServiceOption {
  std::string_view name, of_worker;
};
constexpr ServiceOption kServiceOptions[] = {{"serve", "listen"},
                                             {"jobs", "slots"},
                                             {"max-frame", "max-frame"},
                                             {"store", "store"},
                                             {"quiet", "quiet"},
                                             {"error-format", "error-format"},
                                             {"key", "key"},
                                             {"allow-keys", "allow-keys"},
                                             {"insecure", "insecure"},
                                             {"allow-passes", "allow-passes"},
                                             {"no-sandbox", "no-sandbox"},
                                             {"sandbox-memory", "sandbox-memory"},
                                             {"sandbox-seconds", "sandbox-seconds"},
                                             {"sandbox-file-bytes", "sandbox-file-bytes"}};

Result<void> check_alone(const StageArgs& args) {
  if (args.input != "-" || !args.more_inputs.empty() || args.output != "-") {
    return make_error(ErrorCode::kUsage,
                      "a service has no input and no output of its own: jobs bring them");
  }
  for (const OptionRow& row : option_table()) {
    const bool is_of_services =
        std::ranges::find(kServiceOptions, row.name, &ServiceOption::name) !=
        std::end(kServiceOptions);
    if (is_of_services || args.options.text(row.name) == row.fallback) continue;
    return make_error(ErrorCode::kUsage,
                      "--{} has no place beside --serve: each job brings its own options",
                      row.name);
  }
  return {};
}

// Returns the command line of the worker.
std::vector<std::string> worker_command(const Stage& stage, const Options& options) {
  std::error_code failed;
  const auto own = std::filesystem::canonical("/proc/self/exe", failed);
  std::vector<std::string> words = {(own.parent_path() / kWorker).string(),
                                    fmt::format("--stage={}", stage_name(stage.id))};
  for (const ServiceOption& each : kServiceOptions) {
    const OptionRow& row = *find_option(each.name);
    if (options.text(each.name) == row.fallback) continue;
    words.push_back(fmt::format("--{}", each.of_worker));
    if (!row.is_flag) words.back() += "=" + options.text(each.name);
  }
  return words;
}

Result<void> become_worker(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  return make_error(ErrorCode::kProgramMissing, "cannot start '{}': {}", words[0],
                    std::strerror(errno))
      .with_hint("a service of a stage is run by sluice-worker, which is installed beside it");
}

}  // namespace

int serve_stage(const Stage& stage, const ParsedArguments& parsed) {
  const auto served = within_memory([&]() -> Result<void> {
    if (parsed.wrong) return *parsed.wrong;
    SLUICE_TRY(check_alone(parsed.args));
    return become_worker(worker_command(stage, parsed.args.options));
  });
  return end_failed(stage_program(stage.id), served.error(),
                    parsed.args.options.text("error-format") == "json", false);
}

}  // namespace sluice
