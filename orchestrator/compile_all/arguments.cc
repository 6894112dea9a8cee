#include "orchestrator/compile_all/arguments.h"

#include <algorithm>
#include <charconv>

#include "common/base/parallel.h"

namespace sluice {
namespace {

Result<int64_t> number_from(const CommandLine& line, const char* name, int64_t low) {
  constexpr int64_t kHigh = 1000;
  const std::string text = line.text(name);
  int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code == std::errc() && end == text.data() + text.size() && number >= low && number <= kHigh)
    return number;
  return make_error(ErrorCode::kBadOption, "{} is '{}', expected a whole number from {} to {}",
                    name, text, low, kHigh);
}

using Provider = CompileAllRequest::Provider;

Result<void> take_provider(const CommandLine& line, CompileAllRequest& request) {
  const std::string name = line.text("--provider");
  SLUICE_ASSIGN(const int64_t priority, number_from(line, "--priority", -1000));
  request.farm.priority = static_cast<int32_t>(priority);
  if (name == "slurm") {
    request.provider = Provider::kSlurm;
  } else if (name.find("://") != std::string::npos) {
    request.provider = Provider::kFarm;
    request.farm.endpoint = name;
    request.farm.keys = {.key = line.text("--key"), .peer = line.text("--peer-key")};
    SLUICE_TRY(connecting_endpoint(name, request.farm.keys));
  } else if (name != "local") {
    return make_error(ErrorCode::kBadOption,
                      "--provider is '{}', expected local, slurm, tcp://ADDRESS:PORT or ipc://PATH",
                      name);
  }
  if (request.provider != Provider::kFarm && (line.has("--key") || line.has("--peer-key")))
    return make_error(ErrorCode::kUsage, "--key and --peer-key are for --provider tcp://HOST:PORT");
  return {};
}

}  // namespace

Result<CompileAllRequest> compile_all_request(const CommandLine& line) {
  CompileAllRequest request{.manifest = line.text("<manifest>"),
                            .store = line.text("--store"),
                            .remote = {},
                            .output_folder = line.text("-o"),
                            .result = line.text("--result")};
  SLUICE_TRY(take_provider(line, request));
  if (line.has("--remote")) {
    SLUICE_ASSIGN(request.remote, parse_remote_url(line.text("--remote")));
    if (request.provider == Provider::kSlurm && request.remote.with_login() != request.remote.base)
      return make_error(ErrorCode::kBadOption, "--remote has a login, which tasks would show")
          .with_hint("put it into ~/.netrc: machine HOST login USER password PASSWORD");
  }
  SLUICE_ASSIGN(const int64_t jobs, number_from(line, "--jobs", 0));
  SLUICE_ASSIGN(const int64_t threads, number_from(line, "--threads", 0));
  SLUICE_ASSIGN(request.slurm.batch, number_from(line, "--batch", 1));
  request.slurm.options = line.list("--sbatch");
  request.local.jobs = thread_count(jobs);
  request.local.threads =
      threads > 0 ? threads : std::max<int64_t>(1, thread_count(0) / request.local.jobs);
  request.keeps_going = line.flag("--keep-going");
  request.quiet = line.flag("--quiet");
  return request;
}

}  // namespace sluice
