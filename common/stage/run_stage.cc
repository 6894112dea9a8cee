#include "common/stage/run_stage.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "common/base/descriptor.h"
#include "common/base/program.h"
#include "common/base/work.h"
#include "common/graphfile/graphfile.h"
#include "common/stage/arguments.h"
#include "common/stage/option_files.h"
#include "common/stage/rebind.h"
#include "common/stage/resume.h"
#include "common/stage/stats.h"
#include "common/verify/verify.h"

namespace sluice {
namespace {

// Returns the stages from one level to another, for the hint about a wrong pipe.
std::string stages_between(Level from, Level to) {
  if (from > to) return "this graph is past this stage already; give it to the next one";
  std::string names;
  if (from < Level::kPartitioned && to >= Level::kPartitioned) names += "sluice-partition";
  if (from < Level::kLowered && to >= Level::kLowered)
    names += names.empty() ? "sluice-subgraph-optimize" : ", sluice-subgraph-optimize";
  return fmt::format("run {} first", names);
}

Result<Module> read_input(const Stage& stage, const StageArgs& args) {
  if (args.input == "-" && isatty(STDIN_FILENO) != 0) {
    return make_error(ErrorCode::kUsage, "standard input is a terminal")
        .with_hint(fmt::format("try: {} --help", stage_program(stage.id)));
  }
  if (stage.read != nullptr) return stage.read(args);
  return read_stage_graph(stage.accepts, args.input);
}

// Verifies the constants, except in preprocess, which has just hashed them.
Result<void> check_segments(const Stage& stage, const Module& module, const StageArgs& args) {
  if (args.options.text("verify") != "segments" || stage.id == StageId::kPreprocess) return {};
  return verify_segments(module);
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

uint64_t node_visits() { return work_done()[static_cast<size_t>(Work::kNodeVisits)]; }

// The sums of the reports from `first` on: work done while reading or writing.
struct Reported {
  Reported(const std::vector<PassReport>& reports, size_t first) {
    for (size_t i = first; i < reports.size(); ++i) {
      seconds += reports[i].seconds;
      visits += reports[i].work[static_cast<size_t>(Work::kNodeVisits)];
    }
  }
  double seconds = 0;
  uint64_t visits = 0;
};

// Does at once the work that takes time only on first use, while the stage would just wait:
// resolving the code of writer, reader and verifier.
void get_ready() {
  Module nothing;
  nothing.add_graph({}, GraphRole::kRoot);
  auto bytes = graph_bytes(nothing);
  const auto again =
      bytes ? read_graph(std::make_shared<const std::vector<std::byte>>(std::move(*bytes)), {})
            : bytes.error();
  if (again) static_cast<void>(verify(*again, Level::kTyped).ok());
}

// Waits until the stage before begins to write, which is its time, not ours.
double wait_for_input(const StageArgs& args) {
  if (args.input != "-" || isatty(STDIN_FILENO) != 0) return 0;
  const Clock::time_point start = Clock::now();
  if (pollfd now{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0}; poll(&now, 1, 0) == 0)
    get_ready();
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  while (poll(&input, 1, -1) < 0 && errno == EINTR) {
  }
  return seconds_since(start);
}

Result<Module> read_timed(const Stage& stage, const StageArgs& args, StageTimes& times) {
  times.waiting = wait_for_input(args);
  const Clock::time_point start = Clock::now();
  const uint64_t before = node_visits();
  SLUICE_ASSIGN(Module module, read_input(stage, args));
  SLUICE_TRY(find_constants(module, args.options.text("store"), args.options.text("model")));
  const Reported reported(*args.report, 0);
  times.work = reported.seconds;
  times.reading = seconds_since(start) - reported.seconds;
  times.reading_visits = node_visits() - before - reported.visits;
  return module;
}

Result<void> write_timed(const Stage& stage, Module& module, const StageArgs& args,
                         StageTimes& times) {
  const Clock::time_point start = Clock::now();
  const size_t first = args.report->size();
  const uint64_t before = node_visits();
  SLUICE_TRY(stage.write != nullptr ? stage.write(module, args) : write_graph_output(module, args));
  const Reported reported(*args.report, first);
  times.work += reported.seconds;
  times.writing = seconds_since(start) - reported.seconds;
  times.writing_visits = node_visits() - before - reported.visits;
  return {};
}

// The reader of our standard output need not wait for our end: it gets the end of the graph now.
void let_reader_go_on(const StageArgs& args) {
  if (args.output != "-") return;
  const Descriptor nothing(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (nothing) ::dup2(nothing.get(), STDOUT_FILENO);
}

}  // namespace

Result<Module> read_stage_graph(Level accepts, const std::string& path) {
  SLUICE_ASSIGN(Module module, read_graph_file(path));
  module.source = path;
  if (module.level != accepts) {
    return make_error(ErrorCode::kWrongLevel, "needs level '{}', got '{}'", level_name(accepts),
                      level_name(module.level))
        .with_hint(stages_between(module.level, accepts));
  }
  SLUICE_TRY(verify(module, module.level));
  return module;
}

Result<void> check_binary_output(const StageArgs& args) {
  if (args.output != "-" || isatty(STDOUT_FILENO) == 0) return {};
  return make_error(ErrorCode::kUsage, "standard output is a terminal and the result is binary")
      .with_hint("give -o FILE, or pipe into sluice-show");
}

Result<void> run_stage(const Stage& stage, StageArgs& args, StageRun& run) {
  const Clock::time_point start = Clock::now();
  args.report = &run.passes;
  SLUICE_TRY(read_option_files(args.options));
  SLUICE_TRY(check_output_is_no_input(args.output, args.input));
  for (const std::string& rules : args.options.list("rules", ';'))
    SLUICE_TRY(check_output_is_no_input(args.output, rules));
  for (const std::string& pass : args.options.list("pass", ';'))
    SLUICE_TRY(check_output_is_no_input(args.output, pass.substr(pass.find('=') + 1)));
  SLUICE_TRY(check_output_is_no_input(args.options.text("stats"), args.input));
  if (stage.instead != nullptr) {
    SLUICE_ASSIGN(run.output_written, stage.instead(args));
    if (run.output_written) return {};
  }
  SLUICE_TRY(check_binary_output(args));
  SLUICE_ASSIGN(StatsFile stats, StatsFile::create(args.options.text("stats")));
  SLUICE_ASSIGN(Module module, read_timed(stage, args, run.times));
  SLUICE_TRY(check_resumed(stage.id, module, args.options));
  SLUICE_TRY(inherit_options(args.options, stage.id, module.options));
  export_options(args.options, stage.id, module.options);
  SLUICE_TRY(check_segments(stage, module, args));
  std::string source = module.source;
  const Clock::time_point work = Clock::now();
  auto result = stage.run(std::move(module), args);
  if (!result) {
    Error error = std::move(result).error();
    if (error.file.empty() && source != "-") error.file = source;
    return error;
  }
  run.times.work += seconds_since(work);
  module = std::move(result).value();
  // A stage that stopped half-way is resumed from the level it accepted.
  if (!module.is_mid_stage()) {
    module.level = stage.produces;
    module.last_stage = stage.id;
  }
  record_options_read(stage.id, args.options, module);
  SLUICE_TRY(verify_constant_sizes(module, args.options.max_constant_bytes()));
  SLUICE_TRY(write_timed(stage, module, args, run.times));
  run.output_written = true;
  let_reader_go_on(args);
  run.module = std::move(module);
  run.times.total = seconds_since(start);
  return stats.write(stage_name(stage.id), run.passes, run.times);
}

WriteGraphOptions write_graph_options(const Options& options) {
  return {.inline_segments = options.text("segments") == "inline", .store = options.text("store")};
}

Result<void> verify_result(const Module& module, const Options& options) {
  auto verified = verify(module, module.level);
  if (verified) return {};
  Error error = std::move(verified).error().within("the result does not verify");
  constexpr const char* kChoices[] = {"passes", "skip", "optimization-switch",
                                      "fusion-switch-file"};
  const bool is_chosen =
      std::ranges::any_of(kChoices, [&](auto name) { return !options.text(name).empty(); });
  if (is_chosen) return error;  // the user excluded a pass that the level needs
  error.code = ErrorCode::kInternal;
  if (options.text("verify") != "each") error.hint = "--verify=each names the pass that broke it";
  return error;
}

Result<void> write_graph_output(Module& module, const StageArgs& args) {
  module.compact();
  SLUICE_TRY(verify_result(module, args.options));
  WriteGraphOptions options = write_graph_options(args.options);
  options.is_compact = true;
  return write_graph_file(module, args.output, options);
}

}  // namespace sluice
