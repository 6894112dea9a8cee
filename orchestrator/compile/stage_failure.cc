#include "orchestrator/compile/stage_failure.h"

#include "common/base/program.h"
#include "orchestrator/report.h"

namespace sluice {
namespace {

constexpr int kNotStarted = 127;  // of the system's loader of programs, and of exec that failed

}  // namespace

int report_failure(std::string_view own, const std::string& program, const StageReport& report,
                   bool error_json) {
  const bool known = report.ending.signal == 0 && is_known_code(report.ending.code);
  if (known && !report.messages.empty()) return report.ending.code;
  const bool killed = is_signal_from_outside(report.ending.signal);
  const bool not_started = report.ending.code == kNotStarted;
  Error error =
      make_error(killed || not_started ? ErrorCode::kStageKilled : ErrorCode::kStageFailed,
                 "{} ended with {}", program, ending_text(report.ending));
  if (killed)
    error.hint =
        "somebody killed it, the machine ran out of memory, or a file that it read was cut short";
  if (not_started)
    error.hint =
        "it could not be started: too little memory is allowed, or a library of it is missing";
  print_error(own, error, error_json);
  return known ? report.ending.code : static_cast<int>(exit_class(error.code));
}

}  // namespace sluice
