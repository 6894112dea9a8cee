#include "orchestrator/compile/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "orchestrator/compile/stage_process.h"

namespace sluice {
namespace {

// Opens the input as the stage's standard input, as in a pipe, so that its messages do not depend
// on the path of this run's file.
Result<Descriptor> open_input(const std::string& file) {
  Descriptor input(file.empty() ? -1 : ::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.empty() || input) return input;
  return make_error(ErrorCode::kIo, "cannot open '{}': {}", file, std::strerror(errno));
}

}  // namespace

Result<StageReport> run_over_file(const StageRun& stage, const std::vector<std::string>& more,
                                  const std::string& input_file, int output) {
  StageReport report;
  const auto start = StageClock::now();
  SLUICE_ASSIGN(const Descriptor input, open_input(input_file));
  SLUICE_ASSIGN(const Descriptor messages, make_memory_file());
  SLUICE_ASSIGN(const StageProcess process,
                StageProcess::start(stage, more, {input.get(), output, messages.get()}));
  report.ending = wait_for(process.child(), StageProcess::max_seconds(stage));
  report.seconds = std::chrono::duration<double>(StageClock::now() - start).count();
  report.messages = memory_file_text(messages);
  process.finish(stage, report);
  return report;
}

Result<StageReport> run_to_file(const StageRun& stage, const std::vector<std::string>& more,
                                const std::string& input_file, const std::string& output) {
  if (stage.sandbox) {
    SLUICE_ASSIGN(const Descriptor file, open_for_stage(output));
    return run_over_file(stage, more, input_file, file.get());
  }
  std::vector<std::string> options = more;
  options.insert(options.end(), {"-o", output});
  return run_over_file(stage, options, input_file, -1);
}

Result<bool> run_over_files(const std::vector<StageRun>& stages, int output,
                            const std::string& folder, const StageDone& done) {
  std::string previous;
  for (size_t i = 0; i < stages.size(); ++i) {
    const StageRun& stage = stages[i];
    const bool last = i + 1 == stages.size();
    const std::string file = last                 ? std::string()
                             : stage.dump.empty() ? fmt::format("{}/{}.sg", folder, stage.name)
                                                  : stage.dump;
    SLUICE_ASSIGN(StageReport report, last ? run_over_file(stage, {}, previous, output)
                                           : run_to_file(stage, {}, previous, file));
    std::error_code ignored;
    if (!last && report.ending.clean()) report.bytes = std::filesystem::file_size(file, ignored);
    if (i > 0 && stages[i - 1].dump.empty()) ::unlink(previous.c_str());
    done(i, report);
    if (!report.ending.clean()) return false;
    previous = file;
  }
  return true;
}

}  // namespace sluice
