#include "orchestrator/compile/worker_stages.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "common/base/store.h"
#include "common/wire/endpoint.h"
#include "common/wire/lazy_zmq.h"
#include "orchestrator/compile/sent_stage.h"
#include "orchestrator/farm/farm_client.h"
#include "orchestrator/process/programs.h"

namespace sluice {
namespace {

constexpr std::chrono::seconds kMaxStart{5};
constexpr std::chrono::microseconds kStartTick{500};
constexpr size_t kMaxSocketPath = 107;  // sun_path of unix(7)

}  // namespace

// Ends with its scope.
class WorkerStages::OwnWorker {
 public:
  static Result<std::unique_ptr<OwnWorker>> start(const WorkerChoice& choice) {
    auto worker = std::make_unique<OwnWorker>();
    worker->endpoint_ = fmt::format("ipc://{}/worker", choice.folder);
    if (ipc_path(worker->endpoint_).size() > kMaxSocketPath) {
      return make_error(ErrorCode::kBadOption,
                        "the folder for temporary files has too long a name for a socket: '{}'",
                        choice.folder)
          .with_hint("set TMPDIR to a folder with a shorter one");
    }
    SLUICE_ASSIGN(std::string program, find_program("sluice-worker"));
    SLUICE_ASSIGN(worker->messages_, make_memory_file());
    std::vector<std::string> command = {std::move(program), "--listen=" + worker->endpoint_,
                                        "--allow-passes",  // those of this user
                                        "--slots=1"};
    if (choice.sandbox) {
      command.push_back(fmt::format("--sandbox-memory={}", choice.sandbox->memory_bytes));
      command.push_back(fmt::format("--sandbox-seconds={}", choice.sandbox->cpu_seconds));
      command.push_back(fmt::format("--sandbox-file-bytes={}", choice.sandbox->file_bytes));
    } else {
      command.emplace_back("--no-sandbox");
    }
    SLUICE_ASSIGN(worker->child_, start_process(command, {-1, -1, worker->messages_.get()}));
    SLUICE_ASSIGN(worker->handle_, process_handle(worker->child_));
    SLUICE_TRY(wire::load_zmq());  // while the worker does the same
    worker->wait_for_socket();
    return worker;
  }
  OwnWorker() = default;
  OwnWorker(const OwnWorker&) = delete;
  OwnWorker& operator=(const OwnWorker&) = delete;
  ~OwnWorker() {
    if (child_ == 0) return;
    if (handle_) kill_process(handle_);
    wait_for(child_);
  }

  const std::string& endpoint() const { return endpoint_; }
  bool has_ended() const { return sluice::has_ended(handle_); }
  // Returns its messages after the line that says that it serves.
  std::string last_words() const {
    std::string text = memory_file_text(messages_);
    if (text.find(" serves ") != std::string::npos)
      text.erase(0, std::min(text.find('\n'), text.size() - 1) + 1);
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }

 private:
  // Who connects too early would try again much later.
  void wait_for_socket() const {
    const std::string path = ipc_path(endpoint_);
    const auto end = StageClock::now() + kMaxStart;
    while (!has_ended() && !interrupted() && StageClock::now() < end &&
           ::access(path.c_str(), F_OK) != 0)
      std::this_thread::sleep_for(kStartTick);
  }

  std::string endpoint_;
  pid_t child_ = 0;
  Descriptor handle_, messages_;
};

WorkerStages::WorkerStages(const WorkerChoice& choice) : choice_(choice) {}
WorkerStages::~WorkerStages() = default;

Result<void> WorkerStages::start(const std::vector<StageRun>& stages) {
  const auto runs_elsewhere = [this](const StageRun& stage) {
    return choice_.endpoints.contains(stage.name);
  };
  if (std::ranges::all_of(stages, runs_elsewhere)) return {};
  SLUICE_ASSIGN(own_, OwnWorker::start(choice_));
  return {};
}

Result<Channel*> WorkerStages::channel_to(const std::string& endpoint, const ConnectorKeys& keys) {
  const auto found = channels_.find(endpoint);
  if (found != channels_.end()) return &found->second;
  SLUICE_ASSIGN(Channel channel, Channel::connect(endpoint, keys));
  return &channels_.emplace(endpoint, std::move(channel)).first->second;
}

namespace {

// Returns what the store has of the end of a run. Errors: kIo, when it could not keep that.
Result<StageReport> report_of(const Digest& key, Store& store) {
  StageReport report;
  if (const auto failure = store.find_failure(key)) {
    const auto number = [&](const char* name) {
      const std::string* const text = failure->results.find(name);
      return text == nullptr ? 0 : std::atoi(text->c_str());
    };
    report.ending.signal = number("signal");
    report.ending.code = report.ending.signal != 0 ? 0 : number("code");
    if (const std::string* text = failure->results.find("text")) report.messages = *text;
  } else if (const auto made = store.find(key)) {
    if (const std::string* text = made->results.find("messages")) report.messages = *text;
  } else if (interrupted()) {
    report.ending.code = static_cast<int>(ExitClass::kResource);
  } else {
    return make_error(ErrorCode::kIo, "{}",
                      store.fault().value_or("the end of the stage was not kept"));
  }
  return report;
}

// Of a file that a graph or a model names, and the service does not see.
void add_hint(StageReport& report) {
  const std::string code = fmt::format("SL{}", static_cast<int>(ErrorCode::kMissingSegment));
  const bool misses_file = report.messages.find(code) != std::string::npos ||
                           report.messages.find("cannot open '") != std::string::npos;
  if (!misses_file || report.messages.starts_with('{')) return;
  report.messages +=
      "hint: a service at tcp:// sees the files that it is sent: write graphs for it with "
      "--segments=inline, and read models with external data here, or at a service at ipc://PATH\n";
}

// Nobody can find the records of a run, whose key is its own.
void forget(const Digest& key, const Store& store) {
  for (const std::string_view folder : {kRecords, kJobs, kFailures})
    ::unlink(record_path(store.path(), key, folder).c_str());
}

}  // namespace

Result<StageReport> WorkerStages::run(const StageRun& stage, const StageFiles& files) {
  const auto start = StageClock::now();
  const auto elsewhere = choice_.endpoints.find(stage.name);
  const bool is_own = elsewhere == choice_.endpoints.end();
  const std::string endpoint = is_own ? own_->endpoint() : elsewhere->second;
  const FileNaming names = ipc_path(endpoint).empty() ? FileNaming::kSent
                           : is_own                   ? FileNaming::kAsGiven
                                                      : FileNaming::kAbsolute;
  const SentStage sent{.run = stage, .input = files.input, .output = files.output};
  std::optional<Store> store;
  std::optional<Record> record;
  // A store that cannot be written costs time: what is sent is then in a folder of ours.
  for (const std::string& place :
       {names == FileNaming::kSent ? choice_.store : std::string(), choice_.folder + "/sent"}) {
    if (place.empty() || (store && !store->fault())) continue;
    store.emplace(place);
    SLUICE_ASSIGN(record, record_of(sent, names, *store));
    store->keep_job(*record);
  }
  if (const auto fault = store->fault()) return make_error(ErrorCode::kIo, "{}", *fault);
  const Digest key = record->key();
  FarmProvider provider{.endpoint = endpoint, .listener = FarmListener::kWorker};
  if (!is_own) provider.keys = choice_.keys;
  if (is_own) provider.is_over = [this] { return own_->has_ended(); };
  const JobEvents events{.began = [](const Digest&) {},
                         .ended = [](const Digest&) { return true; },
                         .warned = [](const std::string&) {}};
  auto channel = channel_to(endpoint, provider.keys);
  const auto ended = channel ? run_on_farm(provider, **channel, *store, {key}, events)
                             : Result<void>(channel.error());
  if (!ended) return Error(ended.error()).within("sluice-" + stage.name);
  if (is_own && own_->has_ended() && !interrupted()) {
    return make_error(ErrorCode::kPeerLost, "the worker ended in the middle of sluice-{}",
                      stage.name)
        .with_hint(own_->last_words());
  }
  SLUICE_ASSIGN(StageReport report, report_of(key, *store));
  if (const auto made = store->find(key); made && report.ending.clean())
    SLUICE_TRY(take_made(sent, *made, *store));
  forget(key, *store);
  if (names == FileNaming::kSent && !report.ending.clean()) add_hint(report);
  report.seconds = std::chrono::duration<double>(StageClock::now() - start).count();
  return report;
}

}  // namespace sluice
