#include "orchestrator/job/outcome.h"

#include "common/base/log.h"

namespace sluice {

Failure failure_of(const StageReport& report, std::string_view stage) {
  const bool is_known = report.ending.signal == 0 && is_known_code(report.ending.code);
  Failure failure{.code = is_known ? report.ending.code : static_cast<int>(ExitClass::kInternal),
                  .text = report.messages};
  if (failure.text.empty())
    failure.text = fmt::format("sluice-{} ended with {}", stage, ending_text(report.ending));
  return failure;
}

Failure failure_of(const Error& error) {
  return {.code = static_cast<int>(exit_class(error.code)),
          .text = fmt::format("{}: error {}", kJobProgram, error_text(error))};
}

int report_outcome(const JobRequest& request, const Digest& key, const char* what,
                   JobClock::time_point start, int code) {
  if (request.quiet) return code;
  const double seconds = std::chrono::duration<double>(JobClock::now() - start).count();
  log_text(fmt::format("{}: {} {} {:.2f} s\n", kJobProgram, short_key(key), what, seconds));
  return code;
}

int report_failure(const JobRequest& request, const Record& job, const Failure& failure,
                   JobClock::time_point start, Store& store) {
  Record record{job.kind, job.fields, {}};
  record.results.add("code", fmt::format("{}", failure.code));
  record.results.add("text", failure.text);
  store.keep_failure(record);
  log_text(failure.text.ends_with('\n') ? failure.text : failure.text + "\n");
  return report_outcome(request, job.key(), "failed", start, failure.code);
}

}  // namespace sluice
