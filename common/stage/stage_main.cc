#include "common/stage/stage_main.h"

#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/program.h"
#include "common/passes_host/pass_rows.h"
#include "common/rules/rule_rows.h"
#include "common/stage/arguments.h"
#include "common/stage/failure.h"
#include "common/stage/run_stage.h"
#include "common/stage/serve.h"

namespace sluice {
namespace {

int run_once(const Stage& stage, ParsedArguments& parsed) {
  const std::string program = stage_program(stage.id);
  const bool json = parsed.args.options.text("error-format") == "json";
  const Error no_memory = make_error(ErrorCode::kLimit, "memory ran out");
  const bool piped = fails_into_pipe(parsed.args.output);
  set_memory_error(error_line(program, no_memory, json),
                   piped ? failure_text(program, no_memory) : std::string());
  StageRun run;
  auto done = parsed.wrong ? Result<void>(*parsed.wrong)
                           : within_memory([&] { return run_stage(stage, parsed.args, run); });
  if (done) ::_exit(0);  // all is written, and the system frees a large graph at once
  const Error error = earliest_failure(std::move(done).error(), parsed.args.input);
  return end_failed(program, error, json, piped && !run.output_written);
}

}  // namespace

std::string stage_program(StageId stage) { return fmt::format("sluice-{}", stage_name(stage)); }

int stage_main(int argc, char** argv, const char* usage, const Stage& stage) {
  begin_program();
  auto parsed = program_within_memory([&] { return parse_arguments(argc, argv, stage.id, usage); });
  if (!parsed)
    return end_failed(stage_program(stage.id), parsed.error(), false, fails_into_pipe("-"));
  if (parsed->list_passes) {
    auto rows = rules::RuleRows::load(stage.passes, stage.id, parsed->args.options);
    if (!rows) return end_failed(stage_program(stage.id), rows.error(), false, false);
    auto own = PassRows::load(rows->passes(), stage.id, parsed->args.options);
    if (!own) return end_failed(stage_program(stage.id), own.error(), false, false);
    for (const Pass& pass : own->passes())
      parsed->print += fmt::format("{:28} {}\n", pass.name, pass.sentence);
  }
  if (!parsed->print.empty() || parsed->list_passes)
    return print_text(stage_program(stage.id), parsed->print);
  if (!parsed->args.options.text("serve").empty()) return serve_stage(stage, *parsed);
  return run_once(stage, *parsed);
}

}  // namespace sluice
