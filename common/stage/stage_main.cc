#include "common/stage/stage_main.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "common/base/files.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/program.h"
#include "common/graphfile/graphfile.h"
#include "common/stage/arguments.h"
#include "common/stage/rebind.h"
#include "common/stage/stats.h"
#include "common/verify/verify.h"

namespace sluice {
namespace {

std::string program_name(const Stage& stage) { return fmt::format("sluice-{}", stage_name(stage.id)); }

// The stages that lead from one level to another, for the hint of the wrong pipe.
std::string stages_between(Level from, Level to) {
  if (from > to) return "this graph is past this stage already; give it to the next one";
  std::string names;
  if (from < Level::kPartitioned && to >= Level::kPartitioned) names += "sluice-partition";
  if (from < Level::kLowered && to >= Level::kLowered) names += names.empty() ? "sluice-subgraph-optimize" : ", sluice-subgraph-optimize";
  return fmt::format("run {} first", names);
}

Result<Module> read_input(const Stage& stage, const StageArgs& args) {
  if (args.input == "-" && isatty(STDIN_FILENO) != 0) {
    return make_error(ErrorCode::kUsage, "standard input is a terminal").with_hint(fmt::format("try: {} --help", program_name(stage)));
  }
  if (stage.read != nullptr) return stage.read(args);
  SLUICE_ASSIGN(Module module, read_graph_file(args.input));
  module.source = args.input;
  if (module.level != stage.accepts) {
    return make_error(ErrorCode::kWrongLevel, "needs level '{}', got '{}'", level_name(stage.accepts), level_name(module.level))
        .with_hint(stages_between(module.level, stage.accepts));
  }
  SLUICE_TRY(verify(module, module.level));
  if (args.options.text("verify") == "segments") SLUICE_TRY(verify_segments(module));
  return module;
}

Result<void> check_output(const StageArgs& args) {
  if (args.output != "-" || isatty(STDOUT_FILENO) == 0) return {};
  return make_error(ErrorCode::kUsage, "standard output is a terminal and the result is binary")
      .with_hint("give -o FILE, or pipe into sluice-show");
}

Result<void> run_stage(const Stage& stage, StageArgs& args) {
  const auto start = std::chrono::steady_clock::now();
  SLUICE_TRY(check_output(args));
  SLUICE_TRY(check_output_is_no_input(args.output, args.input));
  SLUICE_ASSIGN(Module module, read_input(stage, args));
  if (const std::string model = args.options.text("model"); !model.empty()) SLUICE_TRY(rebind_constants(module, model));
  SLUICE_TRY(inherit_options(args.options, stage.id, module.options));
  export_options(args.options, stage.id, module.options);
  std::vector<PassReport> report;
  args.report = &report;
  std::string source = module.source;
  auto result = stage.run(std::move(module), args);
  if (!result) {
    Error error = std::move(result).error();
    if (error.file.empty() && source != "-") error.file = source;
    return error;
  }
  module = std::move(result).value();
  if (module.last_pass.empty()) {  // else it stopped half-way, and is resumed from what it accepted
    module.level = stage.produces;
    module.last_stage = stage.id;
  }
  SLUICE_TRY(stage.write != nullptr ? stage.write(module, args) : write_graph_output(module, args));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return write_stats(args.options.text("stats"), stage_name(stage.id), report, seconds);
}

std::string error_line(const std::string& program, const Error& error, bool json) {
  return json ? error_json(error) + "\n" : fmt::format("{}: error {}\n", program, error_text(error));
}

}  // namespace

Result<void> write_graph_output(Module& module, const StageArgs& args) {
  module.compact();
  if (auto verified = verify(module, module.level); !verified) {
    Error error = std::move(verified).error().within("the result does not verify");
    const bool chosen = !args.options.text("passes").empty() || !args.options.text("skip").empty();
    if (!chosen) error.code = ErrorCode::kInternal;  // else the user left out what the level needs
    return error;
  }
  return write_graph_file(module, args.output, {.inline_segments = args.options.text("segments") == "inline"});
}

int stage_main(int argc, char** argv, const char* usage, const Stage& stage) {
  begin_program();
  const std::string program = program_name(stage);
  auto parsed = program_within_memory([&] { return parse_arguments(argc, argv, stage.id, usage); });
  if (!parsed) {
    log_line(program, "error", error_text(parsed.error()));
    return static_cast<int>(exit_class(parsed.error().code));
  }
  if (parsed->list_passes) {
    for (const Pass& pass : stage.passes) parsed->print += fmt::format("{:28} {}\n", pass.name, pass.sentence);
  }
  if (!parsed->print.empty() || parsed->list_passes) return print_text(program, parsed->print);
  const bool json = parsed->args.options.text("error-format") == "json";
  set_memory_error_line(error_line(program, make_error(ErrorCode::kLimit, "memory ran out"), json));
  auto done = within_memory([&] { return run_stage(stage, parsed->args); });
  if (done) return 0;
  fmt::print(stderr, "{}", error_line(program, done.error(), json));
  return static_cast<int>(exit_class(done.error().code));
}

}  // namespace sluice
