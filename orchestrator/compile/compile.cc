#include "orchestrator/compile/compile.h"

#include <optional>

#include "common/base/files.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "orchestrator/compile/pipeline.h"
#include "orchestrator/compile/stages.h"
#include "orchestrator/compile/stats.h"
#include "orchestrator/process/output_file.h"
#include "orchestrator/process/programs.h"
#include "orchestrator/process/scratch_folder.h"

namespace sluice {
namespace {

constexpr std::string_view kProgram = "sluice-compile";

std::string size_text(uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  if (bytes < 1000 * 1000) return fmt::format("{:.1f} kB", bytes / 1e3);
  return fmt::format("{:.1f} MB", bytes / 1e6);
}

class Compilation {
 public:
  explicit Compilation(const CompileRequest& request) : request_(request) {}

  Result<int> run() {
    SLUICE_ASSIGN(first_, first_stage_for(request_.input));
    if (!request_.stats.empty()) {
      SLUICE_ASSIGN(ScratchFolder folder, ScratchFolder::create());
      scratch_.emplace(std::move(folder));
    }
    if (!request_.dump_dir.empty()) SLUICE_TRY(make_directories(request_.dump_dir));
    SLUICE_ASSIGN(const std::vector<StageRun> stages, plan());
    std::optional<OutputFile> output;
    if (request_.output != "-") {
      SLUICE_ASSIGN(OutputFile file, OutputFile::create(request_.output));
      output.emplace(std::move(file));
    }
    const auto done = [&](size_t i, const StageReport& report) { tell(i, report, output ? &*output : nullptr); };
    SLUICE_ASSIGN(const bool succeeded, run_pipeline(stages, output ? output->descriptor() : STDOUT_FILENO, done));
    if (interrupted()) return static_cast<int>(ExitClass::kResource);
    if (stats_error_) return *stats_error_;
    if (succeeded && output) SLUICE_TRY(output->commit());
    if (succeeded && !request_.stats.empty()) SLUICE_TRY(write_stats());
    return exit_code_;
  }

 private:
  Result<std::vector<StageRun>> plan() {
    std::vector<StageRun> stages;
    for (size_t i = first_; i < kStageNames.size(); ++i) {
      StageRun stage;
      stage.name = kStageNames[i];
      SLUICE_ASSIGN(std::string program, find_program("sluice-" + stage.name));
      stage.arguments = {std::move(program)};
      if (i == first_) stage.arguments.insert(stage.arguments.end(), request_.meaning.begin(), request_.meaning.end());
      stage.arguments.insert(stage.arguments.end(), request_.manner.begin(), request_.manner.end());
      if (!request_.dump_dir.empty()) {
        const std::string folder = fmt::format("{}/{}-{}", request_.dump_dir, i + 1, stage.name);
        stage.arguments.push_back("--dump-dir=" + folder);
        if (i + 1 < kStageNames.size()) stage.dump = folder + ".sg";
      }
      if (scratch_) stage.arguments.push_back("--stats=" + stats_path(stage.name));
      stage.arguments.push_back(i == first_ ? request_.input : "-");
      stages.push_back(std::move(stage));
    }
    return stages;
  }

  std::string stats_path(const std::string& stage) const { return scratch_->path() + "/" + stage; }

  void tell(size_t i, StageReport report, const OutputFile* output) {
    const std::string name(kStageNames[first_ + i]);
    if (interrupted()) return;
    std::fputs(report.messages.c_str(), stderr);
    if (!report.ending.clean()) return tell_failure("sluice-" + name, report);
    const bool last = first_ + i + 1 == kStageNames.size();
    if (last && output != nullptr) report.bytes = output->bytes().ok() ? *output->bytes() : 0;
    const std::optional<uint64_t> nodes = scratch_ ? take_stats(name, report) : std::nullopt;
    if (request_.quiet) return;
    std::string text = fmt::format("{:<18} {:>9.1f} ms", name, report.seconds * 1e3);
    if (nodes) text += fmt::format(" {:>7} nodes", *nodes);
    if (!last || output != nullptr) text += fmt::format(" {:>10}", size_text(report.bytes));
    std::fprintf(stderr, "%s: %s\n", kProgram.data(), text.c_str());
  }

  // A stage that ends with a code of the table has said why.
  void tell_failure(const std::string& program, const StageReport& report) {
    const bool told = report.ending.signal == 0 && is_known_code(report.ending.code) && !report.messages.empty();
    if (!told) {
      const Error error = make_error(ErrorCode::kStageFailed, "{} ended with {}", program, ending_text(report.ending));
      log_line(kProgram, "error", error_text(error));
    }
    const bool known = report.ending.signal == 0 && is_known_code(report.ending.code);
    exit_code_ = known ? report.ending.code : static_cast<int>(exit_class(ErrorCode::kStageFailed));
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
    return write_text(request_.stats, json_dump(whole, 2) + "\n");
  }

  const CompileRequest& request_;
  size_t first_ = 0;
  std::optional<ScratchFolder> scratch_;  // where the stages leave their statistics
  Json stats_;
  std::optional<Error> stats_error_;
  int exit_code_ = 0;
};

}  // namespace

Result<int> compile(const CompileRequest& request) { return Compilation(request).run(); }

}  // namespace sluice
