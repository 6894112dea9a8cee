#include "orchestrator/compile_all/compile_all.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>

#include "common/base/files.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/parallel.h"
#include "common/base/program.h"
#include "common/base/scratch_folder.h"
#include "common/base/store.h"
#include "common/store/store_pins.h"
#include "orchestrator/compile/in_order.h"
#include "orchestrator/compile/stages.h"
#include "orchestrator/compile_all/manifest.h"
#include "orchestrator/compile_all/progress.h"
#include "orchestrator/plan/compile_job.h"
#include "orchestrator/process/output_file.h"
#include "orchestrator/process/process.h"
#include "orchestrator/process/programs.h"
#include "orchestrator/store/collect.h"
#include "orchestrator/store/remote.h"

namespace sluice {
namespace {

class CompileAll {
 public:
  CompileAll(const CompileAllRequest& request, std::vector<CompileRequest> compiles)
      : request_(request),
        store_(request.store),
        remote_(request.remote, store_),
        pins_(request.store),
        progress_(request.quiet, compiles.size()) {
    for (CompileRequest& compile : compiles) outcomes_.push_back({.request = std::move(compile)});
  }

  Result<int> run() {
    std::error_code failed;
    if (std::filesystem::equivalent(request_.result, request_.manifest, failed))
      return make_error(ErrorCode::kBadOption, "--result is '{}', the manifest", request_.result);
    if (!request_.result.empty()) {
      SLUICE_ASSIGN(FileWriter file, FileWriter::create(request_.result));
      result_file_.emplace(std::move(file));
    }
    pins_.start();
    SLUICE_TRY(import_all());
    SLUICE_TRY(check_store());
    const std::vector<Digest> keys = open_jobs();
    if (!is_stopped() && !keys.empty()) {
      const JobEvents events{.began = [this](const Digest& key) { take_begin(key); },
                             .ended = [this](const Digest& key) { return take_end(key); },
                             .warned = [this](const std::string& text) { take_warning(text); },
                             .waiting = [this](const std::string& text) { progress_.warn(text); }};
      SLUICE_TRY(run_jobs(keys, events));
    }
    if (const auto fault = store_.fault()) log_warning(kCompileAll, *fault);
    const auto trouble = remote_.trouble();
    if (trouble || job_warning_) log_warning(kCompileAll, trouble ? *trouble : *job_warning_);
    if (result_file_) SLUICE_TRY(write_result());
    return exit_code();
  }

 private:
  // ---- imports

  // Jobs that are not in the store cannot be run by anybody.
  Result<void> check_store() {
    const auto fault = store_.fault();
    if (!fault || is_stopped()) return {};
    const bool has_all = std::ranges::all_of(outcomes_, [&](const Outcome& outcome) {
      return outcome.status != Status::kOpen || store_.find_job(outcome.key);
    });
    return has_all ? Result<void>() : make_error(ErrorCode::kIo, "{}", *fault);
  }

  Result<void> import_all() {
    const int64_t jobs = request_.local.jobs;
    return parallel_for(outcomes_.size(), jobs, [&](size_t i) -> Result<void> {
      if (is_stopped()) return {};
      Outcome& outcome = outcomes_[i];
      progress_.begin(outcome.request.output);
      Result<bool> imported = import_one(outcome);
      progress_.end(outcome.request.output);
      if (!imported) take_error(imported.error(), outcome);
      if (!imported || !*imported) finish(outcome, Status::kFailed);
      return {};
    });
  }

  // Imports a model and puts its job into the store.
  Result<bool> import_one(Outcome& outcome) {
    const CompileRequest& request = outcome.request;
    SLUICE_TRY(first_stage_for(request.input));
    SLUICE_ASSIGN(const ScratchFolder folder, ScratchFolder::create());
    SLUICE_ASSIGN(auto arguments, late_arguments(request.options, 0));
    SLUICE_ASSIGN(const StageRun import, import_run(request, arguments[0]));
    const std::string file = folder.file("import.sg");
    SLUICE_ASSIGN(OutputFile output, OutputFile::create(file));
    const auto done = [&](size_t, const StageReport& report) { take_import(report, outcome); };
    SLUICE_ASSIGN(const bool succeeded,
                  run_in_order({.stages = {import}, .folder = folder.path()}, {}, output, done));
    if (!succeeded) return false;
    SLUICE_TRY(output.commit());
    SLUICE_ASSIGN(const MappedFile graph, MappedFile::open(file));
    SLUICE_ASSIGN(const Digest digest, graph_digest(file));
    CompileJob job{.graph = digest,
                   .artifact = {},
                   .constants = {},
                   .model = is_elsewhere() ? std::string() : absolute(request.input),
                   .arguments = std::move(arguments),
                   .profile = option_value(request.options, "profile")};
    job.artifact = store_.keep(graph.bytes());
    if (is_elsewhere()) {
      SLUICE_ASSIGN(job.constants, keep_list_of_constants(file));
    }
    SLUICE_ASSIGN(Record record, record_of(job, store_));
    outcome.key = record.key();
    pins_.add(outcome.key);
    store_.keep_job(record);
    return true;
  }

  bool is_elsewhere() const { return request_.provider != CompileAllRequest::Provider::kLocal; }

  // Who brings the constants to a machine that does not see the store needs to know which.
  Result<Digest> keep_list_of_constants(const std::string& graph) {
    SLUICE_ASSIGN(const std::string program, find_program("sluice-show"));
    SLUICE_ASSIGN(const Descriptor out, make_memory_file());
    SLUICE_ASSIGN(const pid_t child,
                  start_process({program, "--segments", graph}, {-1, out.get(), -1}));
    const Ending ending = wait_for(child);
    if (!ending.clean())
      return make_error(ErrorCode::kStageFailed, "sluice-show --segments ended with {}",
                        ending_text(ending));
    const std::string lines = memory_file_text(out);
    std::string digests;
    for (size_t begin = 0, end = 0; begin < lines.size(); begin = end + 1) {
      end = std::min(lines.find('\n', begin), lines.size());
      const std::string_view line = std::string_view(lines).substr(begin, end - begin);
      if (line.ends_with(" store")) digests += std::string(line.substr(0, line.find(' '))) + "\n";
    }
    return store_.keep(std::as_bytes(std::span(digests)));
  }

  // The import alone: its constants stay in the model's file, or, for machines that do not see that
  // file, go into the store.
  Result<StageRun> import_run(const CompileRequest& request,
                              const std::vector<std::string>& semantic) const {
    StageRun stage{.name = std::string(kStageNames[0]),
                   .options = request.options.non_semantic,
                   .input = request.input};
    stage.options.insert(stage.options.end(), semantic.begin(), semantic.end());
    SLUICE_ASSIGN(stage.program, find_program("sluice-" + stage.name));
    if (is_elsewhere())
      stage.options.insert(stage.options.end(), {"--segments=inline", "--store=" + store_.path()});
    stage.options.push_back("--threads=1");
    return stage;
  }

  static void take_import(const StageReport& report, Outcome& outcome) {
    outcome.text = report.messages;
    if (report.ending.clean()) return;
    const bool is_known = report.ending.signal == 0 && is_known_code(report.ending.code);
    outcome.code = is_known ? report.ending.code : static_cast<int>(ExitClass::kInternal);
    if (outcome.text.empty())
      outcome.text = "sluice-preprocess ended with " + ending_text(report.ending);
  }

  static std::string absolute(const std::string& path) {
    std::error_code failed;
    const auto whole = std::filesystem::absolute(path, failed);
    return failed ? path : whole.string();
  }

  // ---- jobs

  // Puts the models that the store has under their names, and returns the keys of the others, each
  // once, in the manifest's order.
  std::vector<Digest> open_jobs() {
    std::vector<Digest> keys;
    for (size_t i = 0; i < outcomes_.size(); ++i) {
      Outcome& outcome = outcomes_[i];
      if (outcome.status != Status::kOpen || is_stopped()) continue;
      if (const auto model = find_model(outcome)) {
        deliver(*model, Status::kFound, outcome);
        continue;
      }
      std::vector<size_t>& sharers = by_key_[outcome.key];
      if (sharers.empty()) keys.push_back(outcome.key);
      sharers.push_back(i);
    }
    return keys;
  }

  const std::string& name_of(const Digest& key) const {
    return outcomes_[by_key_.at(key).front()].request.output;
  }

  void take_begin(const Digest& key) { progress_.begin(name_of(key)); }

  // Every job may have the same to say.
  void take_warning(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (!job_warning_) job_warning_ = text;
  }

  // Each job would wait again for a server that does not answer.
  Result<void> run_jobs(const std::vector<Digest>& keys, const JobEvents& events) {
    const RemoteUrl remote = remote_.is_used() ? request_.remote : RemoteUrl();
    LocalProvider local = request_.local;
    SlurmProvider slurm = request_.slurm;
    local.remote = slurm.remote = remote;
    switch (request_.provider) {
      case CompileAllRequest::Provider::kSlurm:
        return run_on_slurm(slurm, store_, keys, events);
      case CompileAllRequest::Provider::kFarm:
        return run_on_farm(request_.farm, store_, keys, events);
      default:
        return run_locally(local, store_, keys, events);
    }
  }

  bool take_end(const Digest& key) {
    const std::lock_guard lock(mutex_);
    progress_.end(name_of(key));
    for (const size_t i : by_key_[key]) {
      Outcome& outcome = outcomes_[i];
      if (const auto model = find_model(outcome)) {
        deliver(*model, Status::kMade, outcome);
      } else {
        take_failure(key, outcome);
        finish(outcome, Status::kFailed);
      }
    }
    return !is_stopped();
  }

  void take_failure(const Digest& key, Outcome& outcome) {
    outcome.code = static_cast<int>(ExitClass::kResource);
    outcome.text = "the job was lost: killed, or its machine is gone";
    const auto failure = store_.find_failure(key);
    if (!failure) return;
    if (const std::string* text = failure->results.find("text")) outcome.text = *text;
    if (const std::string* code = failure->results.find("code"))
      std::from_chars(code->data(), code->data() + code->size(), outcome.code);
  }

  std::optional<MappedFile> find_model(const Outcome& outcome) {
    const auto record = store_.find(outcome.key);
    const auto artifact = record ? record->results.find_digest("output") : std::nullopt;
    return artifact ? store_.find_artifact(*artifact) : std::nullopt;
  }

  // Puts a model under its name.
  void deliver(const MappedFile& model, Status status, Outcome& outcome) {
    const std::string& path = outcome.request.output;
    outcome.bytes = model.bytes().size();
    const auto written = [&]() -> Result<void> {
      SLUICE_TRY(make_directories(std::filesystem::path(path).parent_path().string()));
      SLUICE_ASSIGN(OutputFile output, OutputFile::create(path));
      SLUICE_TRY(output.take(model));
      return output.commit();
    }();
    if (!written) take_error(written.error(), outcome);
    finish(outcome, written ? status : Status::kFailed);
  }

  static void take_error(const Error& error, Outcome& outcome) {
    outcome.text = fmt::format("{}: error {}", kCompileAll, error_text(error));
    outcome.code = static_cast<int>(exit_class(error.code));
  }

  // ---- the end

  void finish(Outcome& outcome, Status status) {
    outcome.status = status;
    if (status == Status::kFailed && !request_.keeps_going) has_failed_ = true;
    progress_.report(outcome);
  }

  bool is_stopped() const { return has_failed_ || interrupted(); }

  int exit_code() const {
    if (interrupted()) return static_cast<int>(ExitClass::kResource);
    for (const Outcome& outcome : outcomes_)
      if (outcome.status == Status::kFailed) return outcome.code;
    return 0;
  }

  Result<void> write_result() {
    Json list{Json::Array{}};
    for (const Outcome& outcome : outcomes_) list.push(outcome_json(outcome));
    Json whole;
    whole.set("compiles", std::move(list));
    SLUICE_TRY(result_file_->write(json_dump(whole, 2) + "\n"));
    return result_file_->commit();
  }

  const CompileAllRequest& request_;
  Store store_;
  RemoteStore remote_;
  StorePins pins_;  // jobs that wait need what they were given
  std::vector<Outcome> outcomes_;
  std::map<Digest, std::vector<size_t>> by_key_;
  std::mutex mutex_;
  std::optional<std::string> job_warning_;
  std::atomic<bool> has_failed_ = false;
  Progress progress_;
  std::optional<FileWriter> result_file_;
};

}  // namespace

Result<int> compile_all(const CompileAllRequest& request) {
  SLUICE_ASSIGN(std::vector<CompileRequest> compiles,
                read_manifest(request.manifest, request.output_folder));
  SLUICE_ASSIGN(const int code, CompileAll(request, std::move(compiles)).run());
  if (const auto kept = collect_if_full(request.store); !kept)
    log_warning(kCompileAll, kept.error().message);
  return code;
}

}  // namespace sluice
