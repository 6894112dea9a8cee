#include "orchestrator/compile/compile.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "common/base/files.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/program.h"
#include "common/base/scratch_folder.h"
#include "common/base/size_text.h"
#include "common/base/weights_place.h"
#include "orchestrator/compile/compile_stat.h"
#include "orchestrator/compile/in_order.h"
#include "orchestrator/compile/pipeline.h"
#include "orchestrator/compile/plan.h"
#include "orchestrator/compile/sandbox.h"
#include "orchestrator/compile/show_plan.h"
#include "orchestrator/compile/stage_failure.h"
#include "orchestrator/compile/stats.h"
#include "orchestrator/compile/worker_stages.h"
#include "orchestrator/process/output_file.h"
#include "orchestrator/store/collect.h"
#include "orchestrator/store/model_cache.h"
#include "orchestrator/store/remote.h"

namespace sluice {
namespace {

constexpr std::string_view kProgram = "sluice-compile";
constexpr size_t kShownKey =
    16;  // digits of a key in progress lines: `sluice cache explain` takes them

class Compilation {
 public:
  explicit Compilation(const CompileRequest& request) : request_(request) {}

  Result<int> run() {
    SLUICE_ASSIGN(cache_, ModelCache::open(request_.cache_dir, request_.graph_key, interrupted));
    if (cache_) request_.store = cache_->folder();
    SLUICE_ASSIGN(const CompileSteps steps, steps_of(request_));
    SLUICE_TRY(check_output_is_no_input(request_.output, request_.input));
    for (const std::string& rules : request_.options.rules)
      SLUICE_TRY(check_output_is_no_input(request_.output, rules.substr(rules.find('=') + 1)));
    for (const std::string& pass : request_.options.own_passes)
      SLUICE_TRY(check_output_is_no_input(request_.output, pass.substr(pass.rfind('=') + 1)));
    if (!request_.model.empty())
      SLUICE_TRY(check_output_is_no_input(request_.output, request_.model));
    SLUICE_TRY(check_farm_keeps(steps));
    if (steps.builds() && asks_for_weight_files(request_))
      SLUICE_TRY(check_has_weights_place(model_name(request_)));
    SLUICE_TRY(open_stats());
    asks_store_ = asks_store(request_, steps);
    SLUICE_TRY(make_places());
    if (request_.sandbox) SLUICE_TRY(report_layers(kProgram, request_.quiet));
    SLUICE_ASSIGN(plan_, plan_compile(request_, steps, places_));
    if (request_.shows_plan) return show_plan();
    const bool is_linear = request_.transport == Transport::kPipe && !asks_store_;
    return is_linear ? run_in_pipe() : run_over_files();
  }

 private:
  // A graph names its kernels, which are in the store.
  Result<void> check_farm_keeps(const CompileSteps& steps) const {
    const bool keeps_graphs = !steps.builds() || !request_.dump_dir.empty();
    if (request_.farm.endpoint.empty() || !request_.store.empty() || !keeps_graphs) return {};
    return make_error(ErrorCode::kUsage,
                      "--farm with {} needs a store: the kernels of the graphs stay there",
                      steps.builds() ? "--dump-dir" : "--stop-after")
        .with_hint("name one with --store DIR");
  }

  Result<int> show_plan() {
    Store store(places_.store);
    std::string imported;
    if (asks_store_ && plan_.steps.first == 0) {
      imported = scratch_->file("planned.sg");
      SLUICE_ASSIGN(const bool succeeded, import_for_plan(imported));
      if (!succeeded) return exit_code_;
    }
    SLUICE_ASSIGN(const std::string text,
                  plan_text(request_, plan_, places_, asks_store_ ? &store : nullptr, imported));
    return print_text(std::string(kProgram), text);
  }

  Result<bool> import_for_plan(const std::string& file) {
    StageRun import = plan_.stages[0];
    import.dump.clear();
    std::erase_if(import.options, [](const std::string& option) {
      return option.starts_with("--dump-dir=") || option.starts_with("--stats=") ||
             option.starts_with("--store=") || option.starts_with("--segments=");
    });
    SLUICE_ASSIGN(OutputFile output, OutputFile::create(file));
    const auto done = [&](size_t, const StageReport& report) {
      if (!request_.quiet || !report.ending.clean()) std::fputs(report.messages.c_str(), stderr);
      if (!report.ending.clean()) report_stage_failure("sluice-" + import.name, report);
    };
    SLUICE_ASSIGN(const bool succeeded,
                  run_in_order({.stages = {import}, .folder = scratch_->path()}, {}, output, done));
    if (succeeded) SLUICE_TRY(output.commit());
    return succeeded;
  }

  // Opened first: a model without its statistics is not what was asked for.
  Result<void> open_stats() {
    if (request_.shows_plan) return {};
    SLUICE_TRY(open_statistics(request_.stats, stats_file_));
    return open_statistics(request_.compile_stat, compile_stat_file_);
  }

  Result<void> open_statistics(const std::string& path, std::optional<FileWriter>& writer) const {
    if (path.empty()) return {};
    SLUICE_TRY(check_output_is_no_input(path, request_.input));
    SLUICE_ASSIGN(FileWriter file, FileWriter::create(path));
    writer.emplace(std::move(file));
    return {};
  }

  Result<void> make_places() {
    const bool is_plain_pipe = request_.transport == Transport::kPipe && !asks_store_ &&
                               !request_.has_statistics() && !request_.sandbox;
    if (!is_plain_pipe) {
      SLUICE_ASSIGN(ScratchFolder folder, ScratchFolder::create());
      scratch_.emplace(std::move(folder));
      places_.scratch = scratch_->path();
    }
    places_.store = request_.store;
    if (asks_store_ && places_.store.empty()) places_.store = scratch_->file("store");
    return {};
  }

  // A pipe or a terminal is written by way of a file, where stages cannot write it themselves.
  bool is_copied() const { return request_.output == "-" || is_special_file(request_.output); }

  Result<int> run_in_pipe() {
    const bool is_copied_later = request_.sandbox && is_copied();
    std::optional<OutputFile> output;
    if (is_copied_later || request_.output != "-") {
      SLUICE_ASSIGN(OutputFile file, OutputFile::create(is_copied_later ? scratch_->file("product")
                                                                        : request_.output));
      output.emplace(std::move(file));
    }
    OutputFile* const file = output ? &*output : nullptr;
    const auto done = [&](size_t i, const StageReport& report) { report_stage(i, report, file); };
    SLUICE_ASSIGN(
        const bool succeeded,
        run_pipeline(plan_.stages, file != nullptr ? file->descriptor() : STDOUT_FILENO, done));
    return finish(succeeded, file, is_copied_later);
  }

  // Returns the exit code.
  Result<int> finish(bool succeeded, OutputFile* output, bool copies) {
    if (interrupted()) return static_cast<int>(ExitClass::kResource);
    if (stats_error_) return *stats_error_;
    if (!succeeded) return exit_code_;
    SLUICE_TRY(write_stats());
    if (output != nullptr) SLUICE_TRY(output->commit());
    if (copies) SLUICE_TRY(copy_product(scratch_->file("product")));
    return exit_code_;
  }

  Result<int> run_over_files() {
    Store store(asks_store_ ? places_.store : std::string());
    RemoteStore remote(request_.remote, store);
    SLUICE_ASSIGN(OutputFile output, regular_output());
    bool is_reported = !asks_store_;  // by a stage: what is wrong with the store
    const auto done = [&](size_t i, const StageReport& report) {
      last_key_ = report.key;
      is_reported = is_reported || report.messages.find(places_.store) != std::string::npos;
      report_stage(i, report, &output);
    };
    SLUICE_ASSIGN(const bool succeeded, run_stages(store, output, done));
    if (const auto fault = store.fault(); fault && !is_reported && !request_.quiet)
      log_warning(kProgram, *fault + "; what is missing in it was made again");
    SLUICE_ASSIGN(const int code, finish(succeeded, &output, is_copied()));
    if (interrupted()) return code;
    if (succeeded && cache_) SLUICE_TRY(note_in_cache(store));
    remote.push();
    if (const auto trouble = remote.trouble(); trouble && !request_.quiet)
      log_warning(kProgram, *trouble);
    scratch_.reset();  // its graphs are links to what the store keeps
    if (!store.is_used()) return code;
    if (const auto kept = collect_if_full(store); !kept && !request_.quiet)
      log_warning(kProgram, kept.error().message);
    return code;
  }

  Result<OutputFile> regular_output() const {
    return OutputFile::create(is_copied() ? scratch_->file("product") : request_.output);
  }

  Result<bool> run_stages(Store& store, OutputFile& output, const StageDone& done) const {
    const WorkerChoice choice{.endpoints = request_.services,
                              .keys = request_.service_keys,
                              .store = request_.store,
                              .folder = scratch_->path(),
                              .sandbox = request_.sandbox};
    WorkerStages workers(choice);
    OrderedStages work{.stages = plan_.stages,
                       .folder = scratch_->path(),
                       .store = asks_store_ ? &store : nullptr,
                       .profile = plan_.profile,
                       .model = plan_.model};
    if (!request_.farm.endpoint.empty()) {
      work.make_kernels = [this, &store](const std::vector<Digest>& keys) {
        return make_kernels_on_farm(store, keys);
      };
    }
    if (request_.transport == Transport::kZmq) {
      SLUICE_TRY(workers.start(plan_.stages));
      work.start = [&workers](const StageRun& stage, const StageFiles& files) {
        return workers.run(stage, files);
      };
    }
    return run_in_order(work, {}, output, done);
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

  void report_stage(size_t i, StageReport report, const OutputFile* output) {
    const std::string& name = plan_.stages[i].name;
    if (interrupted()) return;
    const bool only_warns = report.ending.clean();
    if (!request_.quiet || !only_warns) std::fputs(report.messages.c_str(), stderr);
    if (!report.ending.clean()) return report_stage_failure("sluice-" + name, report);
    const bool last = i + 1 == plan_.stages.size();
    if (last && output != nullptr) report.bytes = output->bytes().ok() ? *output->bytes() : 0;
    const std::optional<uint64_t> nodes =
        request_.has_statistics() ? take_stats(i, report) : std::nullopt;
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
    json.set("stage", plan_.stages[i].name);
    json.set("number", uint64_t{i + 1});
    json.set("of", uint64_t{plan_.stages.size()});
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

  // Of a stage that ran again, because a product of the store was lost, the last time counts.
  std::optional<uint64_t> take_stats(size_t i, const StageReport& report) {
    const std::string& name = plan_.stages[i].name;
    Result<StageStats> stats = stage_stats(name, report, stats_path(places_, name));
    if (!stats) {
      if (!stats_error_) stats_error_ = std::move(stats).error();
      return std::nullopt;
    }
    stats_.resize(std::max(stats_.size(), i + 1));
    stats_[i] = std::move(stats->json);
    return stats->nodes;
  }

  Result<void> write_stats() {
    if (compile_stat_file_) {
      SLUICE_TRY(compile_stat_file_->write(json_dump(compile_stat(stats_), 2) + "\n"));
      SLUICE_TRY(compile_stat_file_->commit());
    }
    if (!stats_file_) return {};
    Json whole;
    whole.set("stages", Json(std::move(stats_)));
    SLUICE_TRY(stats_file_->write(json_dump(whole, 2) + "\n"));
    return stats_file_->commit();
  }

  CompileRequest request_;
  std::optional<ModelCache> cache_;
  std::string last_key_;                  // of the last stage's product in the store
  std::optional<ScratchFolder> scratch_;  // for statistics, graphs and endpoints
  CompilePlaces places_;
  bool asks_store_ = false;
  CompilePlan plan_;
  std::optional<FileWriter> stats_file_, compile_stat_file_;
  Json::Array stats_;  // of the stages
  std::optional<Error> stats_error_;
  int exit_code_ = 0;
};

}  // namespace

Result<int> compile(const CompileRequest& request) { return Compilation(request).run(); }

}  // namespace sluice
