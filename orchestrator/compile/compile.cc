#include "orchestrator/compile/compile.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <optional>

#include "common/base/files.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/options.h"
#include "common/base/program.h"
#include "common/base/scratch_folder.h"
#include "common/base/size_text.h"
#include "common/base/weights_place.h"
#include "orchestrator/compile/files.h"
#include "orchestrator/compile/pipeline.h"
#include "orchestrator/compile/sandbox.h"
#include "orchestrator/compile/services.h"
#include "orchestrator/compile/stage_failure.h"
#include "orchestrator/compile/stages.h"
#include "orchestrator/compile/stats.h"
#include "orchestrator/compile/with_store.h"
#include "orchestrator/process/output_file.h"
#include "orchestrator/process/programs.h"
#include "orchestrator/store/collect.h"
#include "orchestrator/store/model_cache.h"
#include "orchestrator/store/remote.h"

namespace sluice {
namespace {

constexpr std::string_view kProgram = "sluice-compile";
constexpr size_t kShownKey =
    16;  // digits of a key in progress lines: `sluice cache explain` takes them

// The last stage to run, and the pass after which it stops; empty: its last pass.
struct LastStep {
  size_t stage = kStageNames.size() - 1;
  std::string pass;
};

Result<LastStep> last_step(const std::string& text, size_t first) {
  if (text.empty()) return LastStep{};
  const size_t colon = std::min(text.find(':'), text.size());
  const auto* stage =
      std::find(kStageNames.begin() + first, kStageNames.end(), text.substr(0, colon));
  if (stage == kStageNames.end() || colon + 1 == text.size()) {
    std::string stages(kStageNames[first]);
    for (size_t i = first + 1; i < kStageNames.size(); ++i)
      stages += fmt::format(", {}", kStageNames[i]);
    return make_error(
               ErrorCode::kBadOption,
               "--stop-after is '{}', expected STAGE or STAGE:PASS with a stage that runs: {}",
               text, stages)
        .with_hint("sluice STAGE --list-passes prints the passes of a stage");
  }
  return LastStep{static_cast<size_t>(stage - kStageNames.begin()),
                  colon == text.size() ? "" : text.substr(colon + 1)};
}

Result<void> check_in_time(const CompileRequest& request, size_t first) {
  for (const OptionRow& row : option_table()) {
    const std::string_view reader = last_reader(row.name);
    if (reader.empty()) continue;
    const auto stage =
        static_cast<size_t>(std::ranges::find(kStageNames, reader) - kStageNames.begin());
    const std::string start = option_argument(row, "");
    const auto given = [&](const std::string& argument) { return argument.starts_with(start); };
    if (first <= stage || std::ranges::none_of(request.options.semantic, given)) continue;
    return Error{
        ErrorCode::kBadOption,
        fmt::format(
            "--{} is read by sluice-{} and this file is past it: work goes on with sluice-{}",
            row.name, reader, kStageNames[first]),
        "compile the model itself, or an earlier file of --dump-dir, with this option",
        request.input};
  }
  return {};
}

// Returns the path from any folder.
std::string absolute_path(const std::string& path) {
  std::error_code failed;
  const auto absolute = std::filesystem::absolute(path, failed);
  return failed ? path : absolute.string();
}

class Compilation {
 public:
  explicit Compilation(const CompileRequest& request) : request_(request) {}

  Result<int> run() {
    SLUICE_ASSIGN(cache_, ModelCache::open(request_.cache_dir, request_.graph_key, interrupted));
    if (cache_) request_.store = cache_->folder();
    SLUICE_ASSIGN(first_, first_stage_for(request_.input));
    SLUICE_TRY(check_in_time(request_, first_));
    SLUICE_ASSIGN(last_, last_step(request_.stop_after, first_));
    SLUICE_TRY(check_output_is_no_input(request_.output, request_.input));
    if (builds() && asks_for_weight_files()) SLUICE_TRY(check_has_weights_place(model_name()));
    if (!request_.stats.empty()) {
      SLUICE_TRY(check_output_is_no_input(request_.stats, request_.input));
      SLUICE_ASSIGN(FileWriter file, FileWriter::create(request_.stats));
      stats_file_.emplace(std::move(file));
    }
    SLUICE_TRY(check_farm());
    uses_store_ = asks_store();
    if (!request_.stats.empty() || request_.transport != Transport::kPipe || uses_store_ ||
        request_.sandbox) {
      SLUICE_ASSIGN(ScratchFolder folder, ScratchFolder::create());
      scratch_.emplace(std::move(folder));
    }
    if (uses_store_ && request_.store.empty()) request_.store = scratch_->file("store");
    if (!request_.dump_dir.empty()) SLUICE_TRY(make_directories(request_.dump_dir));
    if (request_.sandbox) SLUICE_TRY(report_layers(kProgram, request_.quiet));
    SLUICE_ASSIGN(const std::vector<StageRun> stages, plan());
    if (uses_store_) return run_with_store(stages);
    std::optional<OutputFile> output;
    // A pipe is written by way of a file, which a stage in a sandbox could not make itself.
    const bool is_copied =
        request_.sandbox && (request_.output == "-" || is_special_file(request_.output));
    if (is_copied) {
      SLUICE_ASSIGN(OutputFile file, OutputFile::create(scratch_->file("product")));
      output.emplace(std::move(file));
    } else if (request_.output != "-") {
      const bool is_written_elsewhere =
          request_.services.contains(std::string(kStageNames[last_.stage])) &&
          !is_special_file(request_.output);
      SLUICE_ASSIGN(OutputFile file, is_written_elsewhere ? OutputFile::reserve(request_.output)
                                                          : OutputFile::create(request_.output));
      output.emplace(std::move(file));
    }
    const auto done = [&](size_t i, const StageReport& report) {
      report_stage(i, report, output ? &*output : nullptr);
    };
    SLUICE_ASSIGN(const bool succeeded, run_stages(stages, output ? &*output : nullptr, done));
    if (interrupted()) return static_cast<int>(ExitClass::kResource);
    if (stats_error_) return *stats_error_;
    if (succeeded && stats_file_) SLUICE_TRY(write_stats());
    if (succeeded && output) SLUICE_TRY(output->commit());
    if (succeeded && is_copied) SLUICE_TRY(copy_product(scratch_->file("product")));
    return exit_code_;
  }

 private:
  bool builds() const { return last_.stage + 1 == kStageNames.size() && last_.pass.empty(); }

  // Returns the name that the compiled model gets; files of its weights are beside that.
  const std::string& model_name() const {
    return request_.weights_beside.empty() ? request_.output : request_.weights_beside;
  }

  bool asks_for_weight_files() const {
    return std::ranges::any_of(request_.options.semantic, [](const std::string& argument) {
      return argument.starts_with("--external-weight=") && !argument.ends_with("=0");
    });
  }

  Result<bool> run_stages(const std::vector<StageRun>& stages, const OutputFile* output,
                          const StageDone& done) const {
    const int descriptor = output != nullptr ? output->descriptor() : STDOUT_FILENO;
    if (request_.transport == Transport::kPipe) return run_pipeline(stages, descriptor, done);
    if (request_.transport == Transport::kFiles)
      return run_over_files(stages, descriptor, scratch_->path(), done);
    const ServiceChoice choice{request_.services,     request_.service_keys, request_.store,
                               request_.heartbeat_ms, request_.error_json,   request_.sandbox};
    // Jobs in a sandbox do not reach files that this process has open.
    const bool is_confined =
        request_.sandbox && !request_.services.contains(std::string(kStageNames[last_.stage]));
    const std::string path =
        output != nullptr && !is_confined ? output->path_for_others() : std::string();
    const bool is_file = !path.empty();
    const std::string product = is_file ? path : scratch_->file("sent-product");
    SLUICE_ASSIGN(const bool succeeded,
                  run_over_services(stages, product, scratch_->path(), choice, done));
    if (!succeeded || is_file) return succeeded;
    SLUICE_ASSIGN(const MappedFile model, MappedFile::open(product));
    SLUICE_TRY(write_descriptor(descriptor, model.bytes()));
    return true;
  }

  // Returns whether products of stages may come from the store: not when somebody wants to see the
  // stages work.
  bool asks_store() const {
    const bool verifies = std::ranges::any_of(
        request_.options.non_semantic,
        [](const std::string& argument) { return argument.starts_with("--verify="); });
    return (!request_.store.empty() || uses_farm()) && first_ == 0 && request_.stop_after.empty() &&
           request_.dump_dir.empty() && request_.stats.empty() &&
           request_.transport != Transport::kZmq && !verifies;
  }

  bool uses_farm() const { return !request_.farm.endpoint.empty(); }

  Result<void> check_farm() const {
    if (!uses_farm() || asks_store()) return {};
    return make_error(ErrorCode::kUsage,
                      "--farm is for whole compiles of a model, without --stop-after, --dump-dir, "
                      "--stats, --verify and --transport=zmq");
  }

  // What a farm cannot make is generated here, and fails here, if it does, as without a farm.
  Result<void> make_kernels_on_farm(Store& store, const std::vector<Digest>& keys) const {
    const auto start = std::chrono::steady_clock::now();
    size_t failed = 0;
    const JobEvents events{.began = [](const Digest&) {},
                           .ended =
                               [&](const Digest& key) {
                                 failed += store.find(key) ? 0 : 1;
                                 return true;
                               },
                           .warned = [](const std::string&) {},
                           .waiting = [](const std::string& text) { log_warning(kProgram, text); }};
    SLUICE_TRY(run_on_farm(request_.farm, store, keys, events));
    if (request_.quiet || interrupted()) return {};
    const double ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    std::fputs(fmt::format("{}: {:<18} {:>9.1f} ms {:>7} kernels{}\n", kProgram, "farm", ms,
                           keys.size() - failed,
                           failed == 0 ? std::string() : fmt::format(", {} failed", failed))
                   .c_str(),
               stderr);
    return {};
  }

  Result<int> run_with_store(const std::vector<StageRun>& stages) {
    const bool is_copied = request_.output == "-" || is_special_file(request_.output);
    const std::string path = is_copied ? scratch_->file("product") : request_.output;
    SLUICE_ASSIGN(OutputFile output, OutputFile::create(path));
    Store store(request_.store);
    RemoteStore remote(request_.remote, store);
    bool is_reported = false;  // by a stage
    const auto done = [&](size_t i, const StageReport& report) {
      last_key_ = report.key;
      is_reported = is_reported || report.messages.find(request_.store) != std::string::npos;
      report_stage(i, report, &output);
    };
    SLUICE_ASSIGN(const bool succeeded, compile_stored(stages, store, output, done));
    if (const auto fault = store.fault(); fault && !is_reported && !request_.quiet)
      log_warning(kProgram, *fault + "; what is missing in it was made again");
    if (interrupted()) return static_cast<int>(ExitClass::kResource);
    if (succeeded) {
      SLUICE_TRY(output.commit());
      if (cache_) SLUICE_TRY(note_in_cache(store));
      if (is_copied) SLUICE_TRY(copy_product(path));
    }
    remote.push();
    if (const auto trouble = remote.trouble(); trouble && !request_.quiet)
      log_warning(kProgram, *trouble);
    scratch_.reset();  // its graphs are links to what the store keeps
    if (const auto kept = collect_if_full(store); !kept && !request_.quiet)
      log_warning(kProgram, kept.error().message);
    return exit_code_;
  }

  Result<bool> compile_stored(const std::vector<StageRun>& stages, Store& store, OutputFile& output,
                              const StageDone& done) const {
    StoredWork work{
        .stages = stages,
        .arguments = {},
        .profile = option_value(request_.options, "profile"),
        .model = absolute_path(request_.model.empty() ? request_.input : request_.model),
        .folder = scratch_->path(),
        .keeps_model = !asks_for_weight_files()};
    SLUICE_ASSIGN(work.arguments, semantic_arguments(request_.options));
    if (uses_farm()) {
      work.make_kernels = [this, &store](const std::vector<Digest>& keys) {
        return make_kernels_on_farm(store, keys);
      };
    }
    SLUICE_ASSIGN(const auto imported, import_model(work, done));
    if (!imported) return false;
    return compile_graph(work, *imported, store, output, done);
  }

  Result<void> note_in_cache(Store& store) const {
    const auto key = digest_from_hex(last_key_);
    const auto record = key ? store.find(*key) : std::nullopt;
    const auto artifact = record ? record->results.find_digest("output") : std::nullopt;
    if (!artifact) return {};  // the store could not keep it
    SLUICE_ASSIGN(const std::string note, cache_->note(*key, *artifact));
    if (!note.empty() && !request_.quiet) log_line(kProgram, "note", note);
    return {};
  }

  Result<void> copy_product(const std::string& path) const {
    SLUICE_ASSIGN(const MappedFile file, MappedFile::open(path));
    if (request_.output == "-") return write_descriptor(STDOUT_FILENO, file.bytes());
    return write_file(request_.output, file.bytes());
  }

  // Returns the options of each stage; with a store those that are not semantic.
  Result<std::vector<std::vector<std::string>>> arguments() const {
    if (!uses_store_) return arguments_of_stages(request_.options, first_, last_.stage);
    // What a stage warns of is kept with its product, for those who want to know later.
    std::vector<std::string> options = request_.options.non_semantic;
    std::erase(options, "--quiet");
    return std::vector<std::vector<std::string>>(kStageNames.size(), options);
  }

  // Kernels are in the store, and other constants when graphs are to have none.
  bool takes_store(size_t stage) const {
    return !request_.store.empty() &&
           (!uses_store_ || !request_.segments.empty() ||
            kStageNames[stage] == "subgraph-optimize" || kStageNames[stage] == "build");
  }

  Result<std::vector<StageRun>> plan() const {
    SLUICE_ASSIGN(std::vector<std::vector<std::string>> arguments, this->arguments());
    std::vector<StageRun> stages;
    for (size_t i = first_; i <= last_.stage; ++i) {
      StageRun stage;
      stage.name = kStageNames[i];
      SLUICE_ASSIGN(std::string program, find_program("sluice-" + stage.name));
      stage.program = std::move(program);
      stage.options = std::move(arguments[i - first_]);
      if (i == last_.stage && !last_.pass.empty())
        stage.options.push_back("--stop-after=" + last_.pass);
      if (!request_.segments.empty() && i + 1 < kStageNames.size())
        stage.options.push_back("--segments=" + request_.segments);
      if (takes_store(i)) stage.options.push_back("--store=" + request_.store);
      if (!request_.model.empty() && i > 0 && !uses_store_)
        stage.options.push_back("--model=" + request_.model);
      add_files(i, stage);
      // A graph may carry --external-weight, too.
      if (i + 1 == kStageNames.size() && builds() && (asks_for_weight_files() || first_ > 0))
        stage.options.push_back("--weights-beside=" + model_name());
      if (!request_.stats.empty()) SLUICE_TRY(make_directories(stats_folder(stage.name)));
      if (request_.sandbox) SLUICE_TRY(confine(i, stage));
      stages.push_back(std::move(stage));
    }
    return stages;
  }

  Result<void> confine(size_t i, StageRun& stage) const {
    Sandbox sandbox = *request_.sandbox;
    allow_model(request_.input, sandbox);
    allow_options(request_.options.semantic, sandbox);  // others read them, too
    allow_options(stage.options, sandbox);
    if (!request_.dump_dir.empty()) SLUICE_TRY(make_directories(dump_folder(i)));
    if (!request_.stats.empty()) {
      sandbox.writable.push_back(stats_folder(stage.name));
    }
    if (builds() && i == last_.stage && asks_for_weight_files()) {
      const std::string folder = weights_place(model_name()).folder;
      SLUICE_TRY(make_directories(folder));
      sandbox.writable.push_back(folder);
    }
    const bool keeps_constants = takes_store(i) && (!uses_store_ || !request_.segments.empty());
    if (keeps_constants) SLUICE_TRY(allow_constants(request_.store, sandbox));
    stage.sandbox = std::move(sandbox);
    return {};
  }

  std::string dump_folder(size_t i) const {
    return fmt::format("{}/{}-{}", request_.dump_dir, i + 1, kStageNames[i]);
  }

  void add_files(size_t i, StageRun& stage) const {
    if (!request_.dump_dir.empty()) {
      const std::string folder = dump_folder(i);
      stage.options.push_back("--dump-dir=" + folder);
      if (i < last_.stage) stage.dump = folder + ".sg";  // the last one's graph is the output
    }
    if (!request_.stats.empty()) stage.options.push_back("--stats=" + stats_path(stage.name));
    stage.input = i == first_ ? request_.input : "-";
  }

  std::string stats_folder(const std::string& stage) const {
    return scratch_->file("stats-" + stage);
  }
  std::string stats_path(const std::string& stage) const { return stats_folder(stage) + "/stats"; }

  void report_stage(size_t i, StageReport report, const OutputFile* output) {
    const std::string name(kStageNames[first_ + i]);
    if (interrupted()) return;
    const bool only_warns = report.ending.clean();
    if (!request_.quiet || !only_warns) std::fputs(report.messages.c_str(), stderr);
    if (!report.ending.clean()) return report_stage_failure("sluice-" + name, report);
    const bool last = first_ + i == last_.stage;
    if (last && output != nullptr) report.bytes = output->bytes().ok() ? *output->bytes() : 0;
    const std::optional<uint64_t> nodes =
        !request_.stats.empty() ? take_stats(name, report) : std::nullopt;
    if (request_.quiet) return;
    if (last && output == nullptr) report.bytes = 0;  // those of standard output are not counted
    const std::string text = request_.progress_json ? progress_json(i, report, nodes)
                                                    : progress_text(name, report, nodes);
    std::fprintf(stderr, "%s\n", text.c_str());
  }

  static std::string progress_text(const std::string& stage, const StageReport& report,
                                   std::optional<uint64_t> nodes) {
    std::string text = fmt::format("{}: {:<18} ", kProgram, stage);
    text += report.found ? fmt::format("{:>12}", "found")
                         : fmt::format("{:>9.1f} ms", report.seconds * 1e3);
    if (nodes) text += fmt::format(" {:>7} {}", *nodes, *nodes == 1 ? "node " : "nodes");
    if (report.bytes > 0) text += fmt::format(" {:>10}", size_text(report.bytes));
    if (!report.key.empty()) text += "  " + report.key.substr(0, kShownKey);
    return text;
  }

  // Returns {"stage":"optimize","number":2,"of":5,"seconds":0.0123,"bytes":4567}; with --stats also
  // "nodes", with --store "found" and "key".
  std::string progress_json(size_t i, const StageReport& report,
                            std::optional<uint64_t> nodes) const {
    Json json;
    json.set("stage", kStageNames[first_ + i]);
    json.set("number", uint64_t{i + 1});
    json.set("of", uint64_t{last_.stage - first_ + 1});
    json.set("seconds", report.seconds);
    json.set("bytes", report.bytes);
    if (nodes) json.set("nodes", *nodes);
    if (!report.key.empty()) {
      json.set("found", report.found);
      json.set("key", report.key);
    }
    return json_dump(json);
  }

  void report_stage_failure(const std::string& program, const StageReport& report) {
    const bool reader_gone = request_.output == "-" && report.ending.signal == 0 &&
                             report.ending.code == static_cast<int>(ExitClass::kResource);
    exit_code_ = report.ending.code;
    if (reader_gone && report.messages.empty())
      return;  // the reason why standard output is closed has been printed
    exit_code_ = report_failure(kProgram, program, report, request_.error_json);
  }

  std::optional<uint64_t> take_stats(const std::string& name, const StageReport& report) {
    Result<StageStats> stats = stage_stats(name, report, stats_path(name));
    if (!stats) {
      if (!stats_error_) stats_error_ = std::move(stats).error();
      return std::nullopt;
    }
    stats_.push(std::move(stats->json));
    return stats->nodes;
  }

  Result<void> write_stats() {
    Json whole;
    whole.set("stages", std::move(stats_));
    SLUICE_TRY(stats_file_->write(json_dump(whole, 2) + "\n"));
    return stats_file_->commit();
  }

  CompileRequest request_;
  std::optional<ModelCache> cache_;
  std::string last_key_;  // of the last stage's product in the store
  size_t first_ = 0;
  LastStep last_;
  bool uses_store_ = false;
  std::optional<ScratchFolder> scratch_;  // for statistics, graphs and endpoints
  std::optional<FileWriter>
      stats_file_;  // opened first: a model without its statistics is not what was asked for
  Json stats_;
  std::optional<Error> stats_error_;
  int exit_code_ = 0;
};

}  // namespace

Result<int> compile(const CompileRequest& request) { return Compilation(request).run(); }

}  // namespace sluice
