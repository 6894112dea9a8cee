#include "orchestrator/farm/farm_command.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <span>

#include "common/base/digest.h"
#include "common/base/files.h"
#include "common/base/parallel.h"
#include "common/base/program.h"
#include "common/sandbox/sandbox_options.h"
#include "common/wire/endpoint.h"
#include "common/wire/keys.h"
#include "orchestrator/compile/sandbox.h"
#include "orchestrator/compile/stages.h"
#include "orchestrator/farm/artifacts.h"
#include "orchestrator/farm/ask.h"
#include "orchestrator/farm/dispatcher.h"
#include "orchestrator/farm/farm_status.h"
#include "orchestrator/farm/stage_worker.h"
#include "orchestrator/farm/worker.h"
#include "orchestrator/process/process.h"
#include "orchestrator/process/programs.h"

namespace sluice {
namespace {

constexpr char kFarm[] = "sluice-farm";
constexpr int64_t kMaxSlots = 1024;  // and threads

Result<int64_t> number_of(const CommandLine& line, const char* name, int64_t low, int64_t high) {
  const std::string text = line.text(name);
  int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code == std::errc() && end == text.data() + text.size() && number >= low && number <= high)
    return number;
  return make_error(ErrorCode::kBadOption, "{} is '{}', expected a whole number from {} to {}",
                    name, text, low, high);
}

Result<bool> logs_json(const CommandLine& line) {
  const std::string format = line.text("--log-format");
  if (format == "json" || format == "text") return format == "json";
  return make_error(ErrorCode::kBadOption, "--log-format is '{}', expected text or json", format);
}

int log_level(const CommandLine& line) {
  return line.flag("--quiet") ? 0 : line.flag("--verbose") ? 2 : 1;
}

ConnectorKeys connector_keys(const CommandLine& line) {
  return {.key = line.text("--key"), .peer = line.text("--peer-key")};
}

Result<Digest> key_of(const CommandLine& line) {
  const auto key = digest_from_hex(line.text("<key>"));
  if (key) return *key;
  return make_error(ErrorCode::kUsage, "'{}' is no key, expected 64 hex digits",
                    line.text("<key>"));
}

Result<SlurmWorkersRequest> slurm_request(const CommandLine& line, const std::string& state) {
  if (line.text("--provider") != "slurm")
    return make_error(ErrorCode::kBadOption, "--provider is '{}', expected slurm",
                      line.text("--provider"));
  SlurmWorkersRequest request{.endpoint = line.text("--reached-at"),
                              .folder = state,
                              .sbatch = line.list("--sbatch"),
                              .command = {}};
  constexpr int64_t kMaxWorkers = 10000;
  SLUICE_ASSIGN(const int64_t min, number_of(line, "--min", 0, kMaxWorkers));
  SLUICE_ASSIGN(const int64_t max,
                number_of(line, "--max", std::max<int64_t>(min, 1), kMaxWorkers));
  request.min = static_cast<size_t>(min);
  request.max = static_cast<size_t>(max);
  SLUICE_ASSIGN(const std::string program, find_program("sluice-worker"));
  const std::vector<std::string>& words = line.list("--worker");
  request.command = {program};
  for (const std::string& word : {std::string("--idle-exit=30"), "--store=" + state + "/workers"}) {
    const std::string name = word.substr(0, word.find('=') + 1);
    const bool is_given =
        std::ranges::any_of(words, [&](const std::string& own) { return own.starts_with(name); });
    if (!is_given) request.command.push_back(word);
  }
  request.command.insert(request.command.end(), words.begin(), words.end());
  return request;
}

Result<int> serve(const CommandLine& line) {
  DispatcherRequest request{.endpoint = line.text("--bind"),
                            .keys = {.key = line.text("--key"),
                                     .allowed = line.text("--allow-keys"),
                                     .is_insecure = line.flag("--insecure")},
                            .state = absolute_path(line.text("--state")),
                            .store = {},
                            .metrics = line.text("--metrics"),
                            .slurm = {},
                            .is_synced = line.flag("--sync"),
                            .log_level = log_level(line)};
  request.store =
      line.has("--store") ? absolute_path(line.text("--store")) : request.state + "/store";
  if (line.has("--allow-keys")) request.keys.allowed = absolute_path(request.keys.allowed);
  SLUICE_ASSIGN(request.log_json, logs_json(line));
  if (!line.has("--provider")) {
    for (const char* name : {"--reached-at", "--sbatch", "--worker"})
      if (line.has(name)) return make_error(ErrorCode::kUsage, "{} is for --provider slurm", name);
  }
  if (line.has("--provider")) {
    SLUICE_ASSIGN(request.slurm, slurm_request(line, request.state));
  }
  SLUICE_ASSIGN(const int64_t verifying, number_of(line, "--verifying", 1, 1000));
  SLUICE_ASSIGN(const int64_t jobs, number_of(line, "--max-jobs", 1, 100'000'000));
  request.verifying = static_cast<size_t>(verifying);
  request.max_jobs = static_cast<uint64_t>(jobs);
  return run_dispatcher(request);
}

Result<int> ask(const CommandLine& line, const pb::FarmMessage& question) {
  catch_interrupts();
  SLUICE_ASSIGN(const std::string json,
                ask_for_status(line.text("<endpoint>"), connector_keys(line), question));
  if (line.flag("--json")) return print_text(kFarm, json + "\n");
  SLUICE_ASSIGN(const std::string table, status_table(json));
  return print_text(kFarm, table);
}

Result<int> make_keys(const CommandLine& line) {
  const std::string folder = line.has("-o") ? line.text("-o") : ".", name = line.text("<name>");
  SLUICE_TRY(make_key_files(folder, name));
  const std::string path = folder == "." ? name : folder + "/" + name;
  return print_text(kFarm,
                    fmt::format("{0}.key  secret, for --key of its owner\n"
                                "{0}.pub  public, for --allow-keys and --peer-key of others\n",
                                path));
}

// The folder of quarantined jobs is a store.
Result<int> replay(const CommandLine& line) {
  SLUICE_ASSIGN(const Digest key, key_of(line));
  catch_interrupts();
  SLUICE_ASSIGN(const std::string program, find_program("sluice-job"));
  SLUICE_ASSIGN(
      const pid_t child,
      start_process({program, "--store=" + line.text("--state") + "/quarantine", digest_hex(key)},
                    {-1, 1, 2}));
  const Ending ending = wait_for(child);
  if (ending.signal == 0) return ending.code;
  return make_error(ErrorCode::kStageFailed, "the job ended with {}", ending_text(ending));
}

}  // namespace

Result<int> run_farm_command(const CommandLine& line) {
  pb::FarmMessage question;
  if (line.flag("keygen")) return make_keys(line);
  if (line.flag("replay")) return replay(line);
  if (line.flag("status")) {
    question.mutable_ask_status();
  } else if (line.flag("drain")) {
    question.mutable_drain();
  } else if (line.flag("release")) {
    SLUICE_ASSIGN(const Digest key, key_of(line));
    question.mutable_release()->set_key(digest_field(key));
  } else {
    return serve(line);
  }
  return ask(line, question);
}

namespace {

// Returns the options of sluice-job.
std::vector<std::string> job_words(const CommandLine& line) {
  std::vector<std::string> words;
  if (line.flag("--allow-passes")) words.emplace_back("--allow-passes");
  if (line.flag("--no-sandbox")) return words;
  words.emplace_back("--sandbox");
  for (const char* name : {"--sandbox-memory", "--sandbox-seconds", "--sandbox-file-bytes"})
    if (line.has(name)) words.push_back(fmt::format("{}={}", name, line.text(name)));
  return words;
}

// How other workers are served. The keys of --key are for the dispatcher, too.
Result<PeerServerRequest> peer_server_request(const CommandLine& line) {
  if (!line.has("--bind")) {
    for (const char* name : {"--reached-at", "--allow-keys", "--insecure"})
      if (line.has(name)) return make_error(ErrorCode::kUsage, "{} is given without --bind", name);
    return PeerServerRequest();
  }
  PeerServerRequest request{.bind = line.text("--bind"),
                            .reached_at = line.text("--reached-at"),
                            .keys = {.is_insecure = line.flag("--insecure")}};
  const std::string path = ipc_path(request.bind);
  if (!path.empty()) request.bind = "ipc://" + absolute_path(path);  // for others, elsewhere
  if (line.has("--allow-keys"))
    request.keys = {.key = line.text("--key"),
                    .allowed = absolute_path(line.text("--allow-keys")),
                    .is_insecure = request.keys.is_insecure};
  return request;
}

// Options of a worker that has a dispatcher, and of one that listens.
constexpr const char* kOfDispatched[] = {"--peer-key", "--bind", "--reached-at", "--threads",
                                         "--idle-exit"};
constexpr const char* kOfListening[] = {"--stage", "--max-frame"};

Result<void> check_unused(const CommandLine& line, std::span<const char* const> names,
                          const char* of) {
  for (const char* const name : names)
    if (line.has(name)) return make_error(ErrorCode::kUsage, "{} is for {}", name, of);
  return {};
}

Result<size_t> slots_of(const CommandLine& line) {
  SLUICE_ASSIGN(const int64_t slots, number_of(line, "--slots", 0, kMaxSlots));
  return static_cast<size_t>(thread_count(slots));
}

Result<int> listen(const CommandLine& line) {
  SLUICE_TRY(check_unused(line, kOfDispatched, "a worker with --connect"));
  StageWorkerRequest request{
      .stage = line.text("--stage"),
      .endpoint = line.text("--listen"),
      .keys = {.key = line.text("--key"),
               .allowed = line.text("--allow-keys"),
               .is_insecure = line.flag("--insecure")},
      .store = line.has("--store") ? absolute_path(line.text("--store")) : "",
      .max_input_bytes = kMaxFrameBytes,
      .log_level = log_level(line)};
  const bool is_stage = std::ranges::find(kStageNames, request.stage) != kStageNames.end();
  if (!request.stage.empty() && !is_stage) {
    return make_error(ErrorCode::kBadOption, "--stage is '{}', expected one of {}", request.stage,
                      fmt::join(kStageNames, ", "));
  }
  SLUICE_ASSIGN(request.log_json, logs_json(line));
  SLUICE_ASSIGN(request.slots, slots_of(line));
  if (line.has("--max-frame")) {
    SLUICE_ASSIGN(const int64_t bytes, number_of(line, "--max-frame", 1, INT64_MAX));
    request.max_input_bytes = static_cast<uint64_t>(bytes);
  }
  SLUICE_ASSIGN(Sandbox limits, sandbox_of_options([&](std::string_view option) {
                  const std::string name = "--" + std::string(option);
                  return line.has(name) ? line.text(name) : std::string();
                }));
  if (!line.flag("--no-sandbox")) request.sandbox = std::move(limits);
  request.allows_passes = line.flag("--allow-passes");
  return run_stage_worker(request);
}

}  // namespace

Result<int> run_worker_command(const CommandLine& line) {
  if (line.has("--listen")) return listen(line);
  SLUICE_TRY(check_unused(line, kOfListening, "a worker with --listen"));
  WorkerRequest request{.endpoint = line.text("--connect"),
                        .keys = connector_keys(line),
                        .serve = {},
                        .store = absolute_path(line.has("--store") ? line.text("--store")
                                                                   : std::string("worker-store")),
                        .idle_seconds = {},
                        .job_options = {},
                        .log_level = log_level(line)};
  SLUICE_ASSIGN(request.log_json, logs_json(line));
  request.job_options = job_words(line);
  request.is_sandboxed = !line.flag("--no-sandbox");
  request.allows_passes = line.flag("--allow-passes");
  SLUICE_ASSIGN(const auto sandbox, sandbox_asked_for(line));
  if (sandbox) request.job_bytes = sandbox->memory_bytes;
  SLUICE_ASSIGN(request.serve, peer_server_request(line));
  SLUICE_ASSIGN(const size_t slots, slots_of(line));
  request.slots = static_cast<int64_t>(slots);
  int64_t threads = 0;
  if (line.has("--threads")) {
    SLUICE_ASSIGN(threads, number_of(line, "--threads", 0, kMaxSlots));
  }
  request.threads = threads > 0 ? threads : std::max<int64_t>(1, thread_count(0) / request.slots);
  if (line.has("--idle-exit")) {
    SLUICE_ASSIGN(const int64_t seconds, number_of(line, "--idle-exit", 0, 1'000'000));
    request.idle_seconds = seconds;
  }
  return run_worker(request);
}

}  // namespace sluice
