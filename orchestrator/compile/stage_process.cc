#include "orchestrator/compile/stage_process.h"

#include <fcntl.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "common/base/files.h"
#include "common/base/log.h"
#include "common/sandbox/sandbox_options.h"
#include "common/store/build_id.h"
#include "common/store/handed_over.h"

namespace sluice {
namespace {

constexpr char kKernelsOption[] = "--new-kernels=/proc/self/fd/3";

std::string option_of(const StageRun& stage, const std::string& name) {
  const std::string start = "--" + name + "=";
  for (const std::string& option : stage.options)
    if (option.starts_with(start)) return option.substr(start.size());
  return {};
}

bool hands_over_kernels(const StageRun& stage) {
  return stage.sandbox && stage.name == "subgraph-optimize" && !option_of(stage, "store").empty();
}

bool says(const StageReport& report, std::string_view text) {
  return report.messages.find(text) != std::string::npos;
}

// Returns the limit that the stage went beyond. Memory and files the stage itself has reported,
// with an error that does not say where the limit comes from.
std::optional<Error> exceeded_limit(const StageRun& stage, const StageReport& report) {
  const std::string who = "sluice-" + stage.name;
  const Ending& ending = report.ending;
  if (ending.timed_out) return clock_limit_error(who, *stage.sandbox);
  const bool used_all = ending.cpu_seconds >= static_cast<double>(stage.sandbox->cpu_seconds);
  if (ending.signal == SIGXCPU || (ending.signal == SIGKILL && used_all))
    return time_limit_error(who, *stage.sandbox);
  if (ending.signal == SIGXFSZ) return file_limit_error(who, *stage.sandbox);
  if (ending.code != static_cast<int>(ExitClass::kResource)) return std::nullopt;
  if (says(report, std::strerror(EFBIG))) return file_limit_error(who, *stage.sandbox);
  const bool wants_memory =
      says(report, "SL1008") && (says(report, "memory ran out") || says(report, "no memory for"));
  if (wants_memory) return memory_limit_error(who, *stage.sandbox);
  return std::nullopt;
}

// Opens the input as the stage's standard input, as in a pipe, so that its messages do not depend
// on the path of this run's file.
Result<Descriptor> open_input(const std::string& file) {
  Descriptor input(file.empty() ? -1 : ::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.empty() || input) return input;
  return make_error(ErrorCode::kIo, "cannot open '{}': {}", file, std::strerror(errno));
}

// Opens a file that a stage, which may open none, writes as its standard output.
Result<Descriptor> open_for_stage(const std::string& file) {
  Descriptor opened(::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!opened) return file_error("write", file);
  return opened;
}

void name_limit(const StageRun& stage, StageReport& report) {
  const auto error = exceeded_limit(stage, report);
  if (!error) return;
  report.messages = option_of(stage, "error-format") == "json"
                        ? error_json(*error) + "\n"
                        : fmt::format("sluice-{}: error {}\n", stage.name, error_text(*error));
  report.ending = {.code = static_cast<int>(exit_class(error->code))};
}

Result<void> take_kernels(const StageRun& stage, const Descriptor& kernels) {
  SLUICE_ASSIGN(const std::string build, build_id(stage.program));
  SLUICE_ASSIGN(const MappedFile file, MappedFile::of(kernels.get(), "new kernels"));
  Store store(option_of(stage, "store"));
  return take_handed_over(file.bytes(), {.kind = "kernel", .build = build, .artifact = "object"},
                          store);
}

}  // namespace

std::vector<std::string> command_of(const StageRun& stage, const std::vector<std::string>& more) {
  std::vector<std::string> command = {stage.program};
  for (const auto* words : {&stage.options, &more})
    command.insert(command.end(), words->begin(), words->end());
  command.push_back(stage.input);
  return command;
}

Result<StageProcess> StageProcess::start(const StageRun& stage,
                                         const std::vector<std::string>& more, Streams streams) {
  StageProcess process;
  std::vector<std::string> options = more;
  if (hands_over_kernels(stage)) {
    SLUICE_ASSIGN(process.kernels_, make_memory_file());
    streams.more = process.kernels_.get();
    options.emplace_back(kKernelsOption);
  }
  std::optional<PreparedSandbox> sandbox;
  if (stage.sandbox) {
    Sandbox limits = *stage.sandbox;
    limits.program = stage.program;
    SLUICE_ASSIGN(process.passes_, StagePasses::start(stage, streams.error));
    if (!process.passes_.option().empty()) options.push_back(process.passes_.option());
    streams.kept = process.passes_.descriptors();
    SLUICE_ASSIGN(PreparedSandbox prepared, PreparedSandbox::prepare(limits, Confined::kProgram));
    sandbox.emplace(std::move(prepared));
  }
  SLUICE_ASSIGN(process.child_,
                start_process(command_of(stage, options), streams, sandbox ? &*sandbox : nullptr));
  process.passes_.close_ours();
  return process;
}

std::optional<double> StageProcess::max_seconds(const StageRun& stage) {
  if (!stage.sandbox || stage.sandbox->cpu_seconds == 0) return std::nullopt;
  return static_cast<double>(stage.sandbox->cpu_seconds * kClockFactor);
}

void StageProcess::finish(const StageRun& stage, StageReport& report) const {
  if (!stage.sandbox) return;
  if (!report.ending.clean()) return name_limit(stage, report);
  if (!kernels_) return;
  const auto taken = take_kernels(stage, kernels_);
  if (!taken)
    report.messages += fmt::format("sluice-compile: warning: {}\n", taken.error().message);
}

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

}  // namespace sluice
