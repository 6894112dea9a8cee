#include "orchestrator/refit/refit.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

#include "common/base/count_text.h"
#include "common/base/files.h"
#include "common/base/program.h"
#include "common/base/scratch_folder.h"
#include "common/graphfile/header.h"
#include "common/omfile/om_file.h"
#include "orchestrator/compile/pipeline.h"
#include "orchestrator/compile/stage_failure.h"
#include "orchestrator/compile/stage_process.h"
#include "orchestrator/compile/stages.h"
#include "orchestrator/process/output_file.h"
#include "orchestrator/process/programs.h"
#include "orchestrator/refit/base_options.h"
#include "orchestrator/refit/compare_models.h"
#include "orchestrator/refit/count_constants.h"

namespace sluice {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kProgram = "sluice-refit";
constexpr const char* kCompile =
    "compile the model: refit takes other values of constants, and nothing else";
constexpr int kGraphsMadeFrom = 2;  // of a compiled model: what the first two stages made

// The code may be for another machine.
constexpr OmChecks kChecks = {.weights = false, .machine = false};

Error in_file(Error error, const std::string& file) {
  if (error.file.empty()) error.file = file;
  return error;
}

class Refit {
 public:
  explicit Refit(const RefitRequest& request) : request_(request) {}

  Result<int> run() {
    SLUICE_TRY(check_names());
    SLUICE_TRY(read_base());
    SLUICE_TRY(check_rules());
    SLUICE_TRY(check_weights());
    SLUICE_ASSIGN(ScratchFolder folder, ScratchFolder::create());
    scratch_.emplace(std::move(folder));
    const bool is_copied = request_.output == "-" || is_special_file(request_.output);
    const std::string path = is_copied ? scratch_->file("product") : request_.output;
    SLUICE_ASSIGN(OutputFile output, OutputFile::create(path));
    SLUICE_ASSIGN(const bool succeeded, run_stages(output));
    if (interrupted()) return static_cast<int>(ExitClass::kResource);
    if (!succeeded) return exit_code_;
    SLUICE_ASSIGN(const OmFile made, read_made(output));
    SLUICE_TRY(compare(made));
    SLUICE_TRY(output.commit());
    if (is_copied) SLUICE_TRY(copy_product(path));
    report(made);
    return 0;
  }

 private:
  Result<void> check_names() const {
    for (const std::string& name : {request_.base, request_.weights}) {
      if (name == "-")
        return make_error(ErrorCode::kUsage, "'-' cannot be refitted: it must be a file");
      SLUICE_TRY(check_output_is_no_input(request_.output, name));
    }
    return {};
  }

  Result<void> read_base() {
    Result<OmBytes> bytes = OmBytes::open(request_.base);
    if (!bytes) return std::move(bytes).error();
    Result<OmFile> file = read_om(std::move(*bytes), kChecks);
    if (!file) return in_file(std::move(file).error(), request_.base);
    base_ = std::move(*file);
    if (base_.model->version() == version_text()) return {};
    return Error{ErrorCode::kBadCompiledModel,
                 fmt::format("the compiled model was made by '{}', and this is '{}'",
                             base_.model->version(), version_text()),
                 "compile the model with this release", request_.base};
  }

  // The rules are in the provenance of the base by their digest, after that of the model.
  Result<void> check_rules() const {
    const auto& digests = base_.model->made_from();
    const std::string annotate = option_value(request_.options, "annotate");
    if (annotate.empty()) {
      if (digests.size() < kGraphsMadeFrom + 2) return {};
      return Error{ErrorCode::kBadOption,
                   "the compiled model was made with --annotate, whose file is not in it",
                   "give the same file again: --annotate RULES", request_.base};
    }
    SLUICE_ASSIGN(const std::string rules, read_text(annotate));
    const Digest digest = sha256(rules);
    const std::string bytes(reinterpret_cast<const char*>(digest.bytes.data()),
                            digest.bytes.size());
    if (std::ranges::find(digests, bytes) != digests.end()) return {};
    return Error{ErrorCode::kBadOption,
                 fmt::format("'{}' was compiled without these rules", request_.base),
                 "give the file that it was compiled with, or leave --annotate out", annotate};
  }

  Result<void> check_weights() const {
    SLUICE_ASSIGN(const size_t first, first_stage_for(request_.weights));
    if (first == 0) return {};
    return Error{ErrorCode::kBadFile, "this is a graph file, expected an ONNX model",
                 "sluice compile goes on with a graph file", request_.weights};
  }

  Result<std::vector<StageRun>> plan() const {
    SLUICE_ASSIGN(StageOptions options, options_of_model(*base_.model, scratch_->path()));
    const std::vector<std::string>& sources = request_.options.semantic;
    options.semantic.insert(options.semantic.end(), sources.begin(), sources.end());
    options.non_semantic = request_.options.non_semantic;
    SLUICE_ASSIGN(const auto arguments, early_arguments(options, 0, kStageNames.size() - 1));
    std::vector<StageRun> stages;
    for (size_t i = 0; i < kStageNames.size(); ++i) {
      StageRun stage;
      stage.name = kStageNames[i];
      SLUICE_ASSIGN(stage.program, find_program("sluice-" + stage.name));
      stage.options = options.non_semantic;
      stage.options.insert(stage.options.end(), arguments[i].begin(), arguments[i].end());
      if (stage.name == "subgraph-optimize")
        stage.options.push_back("--kernels-from=" + request_.base);
      stage.input = i == 0 ? request_.weights : "-";
      stages.push_back(std::move(stage));
    }
    return stages;
  }

  Result<bool> run_stages(const OutputFile& output) {
    SLUICE_ASSIGN(const std::vector<StageRun> stages, plan());
    const auto done = [&](size_t i, const StageReport& report) {
      if (interrupted()) return;
      if (!request_.quiet || !report.ending.clean()) std::fputs(report.messages.c_str(), stderr);
      if (!report.ending.clean())
        exit_code_ =
            report_failure(kProgram, "sluice-" + stages[i].name, report, request_.error_json);
    };
    return run_pipeline(stages, output.descriptor(), done);
  }

  Result<OmFile> read_made(const OutputFile& output) const {
    SLUICE_ASSIGN(OmBytes bytes, OmBytes::open(output.path_for_others()));
    return read_om(std::move(bytes), kChecks);
  }

  Result<void> compare(const OmFile& made) const {
    std::string difference = structure_difference(*base_.model, *made.model);
    if (difference.empty()) {
      SLUICE_ASSIGN(difference, graph_difference(made));
    }
    if (difference.empty()) return {};
    return Error{ErrorCode::kOtherStructure,
                 fmt::format("the model is not like that of '{}': {}", request_.base, difference),
                 kCompile, request_.weights};
  }

  // Compares the graphs of nodes that run one by one, or on host_cpu.
  Result<std::string> graph_difference(const OmFile& made) const {
    if (base_.model->segments_size() != made.model->segments_size())
      return std::string("it has other graphs");
    for (int i = 0; i < made.model->segments_size(); ++i) {
      if (made.model->segments(i).kind() != pb::SEGMENT_GRAPH ||
          made.model->segments(i).digest() == base_.model->segments(i).digest())
        continue;
      SLUICE_ASSIGN(std::string text, difference_of(base_.segment(i), made.segment(i)));
      if (!text.empty()) return text;
    }
    return std::string();
  }

  // Returns the first line of what sluice-diff prints of two graphs, constants aside.
  Result<std::string> difference_of(std::span<const std::byte> base,
                                    std::span<const std::byte> made) const {
    const std::string base_file = scratch_->file("base.sg"), made_file = scratch_->file("made.sg");
    SLUICE_TRY(write_file(base_file, base));
    SLUICE_TRY(write_file(made_file, made));
    StageRun diff;
    diff.name = "diff";
    SLUICE_ASSIGN(diff.program, find_program("sluice-diff"));
    diff.options = {"--ignore-constants", "--limit=1", base_file};
    diff.input = made_file;
    SLUICE_ASSIGN(const Descriptor lines, make_memory_file());
    SLUICE_ASSIGN(const StageReport report, run_over_file(diff, {}, {}, lines.get()));
    if (report.ending.clean()) return std::string();
    if (report.ending.signal != 0 || report.ending.code != static_cast<int>(ExitClass::kFailed))
      return make_error(ErrorCode::kStageFailed, "sluice-diff ended with {}: {}",
                        ending_text(report.ending), report.messages);
    const std::string text = memory_file_text(lines);
    return text.substr(0, text.find('\n'));
  }

  Result<void> copy_product(const std::string& path) const {
    SLUICE_ASSIGN(const MappedFile file, MappedFile::open(path));
    if (request_.output == "-") return write_descriptor(STDOUT_FILENO, file.bytes());
    return write_file(request_.output, file.bytes());
  }

  void report(const OmFile& made) const {
    if (request_.quiet) return;
    const ConstantCounts counts = count_constants(base_, made);
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    std::fprintf(stderr, "%s: %s changed, %zu kept%s, %s taken, %.2f s\n", kProgram,
                 count_text(counts.changed, "constant").c_str(), counts.kept,
                 counts.are_all ? "" : " (without those of nodes that run one by one)",
                 count_text(static_cast<uint64_t>(made.model->kernels_size()), "kernel").c_str(),
                 seconds);
  }

  const RefitRequest& request_;
  const Clock::time_point start_ = Clock::now();
  OmFile base_;
  std::optional<ScratchFolder> scratch_;
  int exit_code_ = 0;
};

}  // namespace

Result<int> refit(const RefitRequest& request) { return Refit(request).run(); }

}  // namespace sluice
