#include "common/tools/tool_main.h"

#include "common/base/failure_header.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/options.h"
#include "common/base/program.h"
#include "common/base/release.h"
#include "common/stage/failure.h"

namespace sluice {
namespace {

// A stage does not repeat an error that an earlier program printed; a tool does and names that
// program, since people also pass it files that a failed pipe left.
int fail(const std::string& name, const Error& error, bool json, bool into_pipe) {
  if (!error.reported_by.empty() && error.reported_by != kGoneReader)
    log_text(error_line(name, error, json));
  return end_failed(name, error, json, into_pipe);
}

// Options of all tools. A tool's usage text ends with its own options, so that these continue the
// list.
constexpr std::string_view kCommonOptions =
    R"(  -q, --quiet         No warnings on standard error, errors alone.
  --error-format=FMT  text or json [default: text].
)";

// Checks values of options that all programs share.
Result<void> check_values(const CommandLine& line) {
  for (const OptionRow& row : option_table()) {
    for (const std::string& value : line.list(fmt::format("--{}", row.name))) {
      if (!value.empty()) SLUICE_TRY(check_option_value(row, value));  // empty: a flag of this tool
    }
  }
  return {};
}

}  // namespace

int tool_main(int argc, char** argv, const Tool& tool) {
  begin_program();
  const std::string name(tool.name);
  const std::string usage = std::string(tool.usage).append(kCommonOptions);
  const auto line = program_within_memory([&] { return CommandLine::parse(usage, argc, argv); });
  if (!line) return fail(name, line.error(), false, false);
  if (line->request() == CommandLine::Request::kHelp) return print_text(tool.name, usage);
  if (line->request() == CommandLine::Request::kVersion)
    return print_text(tool.name, fmt::format("{} {}\n", tool.name, kRelease));
  const std::string format = line->text("--error-format");
  const bool json = format == "json";
  if (!format.empty() && format != "text" && !json) {
    return fail(name,
                make_error(ErrorCode::kBadOption, "--error-format is '{}', it must be text or json",
                           format),
                false, false);
  }
  const auto done = within_memory([&]() -> Result<ExitClass> {
    SLUICE_TRY(check_values(*line));
    SLUICE_TRY(check_output_is_no_input(output_path(*line), input_path(*line)));
    return tool.run(*line);
  });
  if (done) return static_cast<int>(*done);
  const bool writes_graph =
      tool.writes_graph || (tool.graph_option != nullptr && line->flag(tool.graph_option));
  return fail(name, done.error(), json, writes_graph && fails_into_pipe(output_path(*line)));
}

}  // namespace sluice
