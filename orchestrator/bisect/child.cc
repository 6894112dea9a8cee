#include "orchestrator/bisect/child.h"

#include <cstdlib>

#include "common/base/program.h"
#include "orchestrator/bisect/json_members.h"
#include "orchestrator/compile/stage_process.h"
#include "orchestrator/process/programs.h"

namespace sluice {
namespace {

// Returns the error of a line that --error-format=json printed.
std::optional<Error> parse_error(std::string_view line) {
  const Result<Json> json = json_parse(line);
  if (!json) return std::nullopt;
  const std::string code = text_in(*json, "code");
  if (!code.starts_with("SL")) return std::nullopt;
  const auto number = static_cast<uint16_t>(std::strtoul(code.c_str() + 2, nullptr, 10));
  if (!is_error_code(number)) return std::nullopt;
  return Error{static_cast<ErrorCode>(number), text_in(*json, "message"), text_in(*json, "hint"),
               text_in(*json, "file")};
}

Error error_of(const std::string& name, const StageReport& report) {
  std::string_view text = report.messages;
  while (text.ends_with('\n')) text.remove_suffix(1);
  if (auto error = parse_error(text.substr(text.rfind('\n') + 1))) return *std::move(error);
  const bool is_killed = is_signal_from_outside(report.ending.signal);
  return make_error(is_killed ? ErrorCode::kStageKilled : ErrorCode::kStageFailed,
                    "{} ended with {}", name, ending_text(report.ending));
}

}  // namespace

Result<ChildResult> run_child(const std::string& name, std::vector<std::string> arguments,
                              ErrorsAs errors) {
  StageRun run{.name = name, .program = {}, .options = std::move(arguments)};
  SLUICE_ASSIGN(run.program, find_program("sluice-" + name));
  if (errors == ErrorsAs::kJson)
    run.options.insert(run.options.begin(), {"--quiet", "--error-format=json"});
  run.input = std::move(run.options.back());
  run.options.pop_back();
  SLUICE_ASSIGN(const Descriptor output, make_memory_file());
  SLUICE_ASSIGN(const StageReport report, run_over_file(run, {}, {}, output.get()));
  if (interrupted()) return make_error(ErrorCode::kIo, "interrupted");
  ChildResult result{.code = report.ending.code, .output = memory_file_text(output)};
  if (report.ending.clean()) return result;
  const bool is_answer = report.ending.code == static_cast<int>(ExitClass::kFailed);
  if (is_answer && report.messages.empty()) return result;  // a difference was found
  result.error = error_of("sluice-" + name, report);
  result.code = static_cast<int>(exit_class(result.error->code));
  return result;
}

bool is_about_work(const Error& error) {
  const ExitClass kind = exit_class(error.code);
  return kind != ExitClass::kUsage && kind != ExitClass::kResource &&
         error.code != ErrorCode::kBadOption;
}

}  // namespace sluice
