#include "orchestrator/compile_all/progress.h"

#include <unistd.h>

#include "common/base/log.h"
#include "common/base/size_text.h"

namespace sluice {
namespace {

constexpr char kClearLine[] = "\r\x1b[K";

}  // namespace

std::string_view status_name(Status status) {
  constexpr std::string_view kNames[] = {"open", "found", "made", "failed"};
  return kNames[static_cast<size_t>(status)];
}

Json outcome_json(const Outcome& outcome) {
  Json json;
  json.set("model", outcome.request.input);
  json.set("output", outcome.request.output);
  json.set("status", status_name(outcome.status));
  if (!outcome.key.is_zero()) json.set("key", digest_hex(outcome.key));
  if (outcome.status == Status::kFound || outcome.status == Status::kMade)
    json.set("bytes", outcome.bytes);
  if (outcome.status == Status::kFailed) {
    json.set("code", outcome.code);
    json.set("error", outcome.text);
  }
  return json;
}

Progress::Progress(bool quiet, size_t count)
    : quiet_(quiet), on_terminal_(isatty(STDERR_FILENO) != 0), count_(count) {}

void Progress::tell(const Outcome& outcome) {
  const std::lock_guard lock(mutex_);
  ++ended_;
  failed_ += outcome.status == Status::kFailed ? 1 : 0;
  found_ += outcome.status == Status::kFound ? 1 : 0;
  std::string text = on_terminal_ && !quiet_ ? kClearLine : "";
  if (outcome.status == Status::kFailed || !quiet_) {
    text += fmt::format("{}: [{}/{}] {:<6} {}", kCompileAll, ended_, count_,
                        status_name(outcome.status), outcome.request.output);
    if (outcome.bytes > 0) text += "  " + size_text(outcome.bytes);
    text += "\n";
  }
  if (!outcome.text.empty() && (outcome.status == Status::kFailed || !quiet_))
    text += outcome.text + (outcome.text.ends_with('\n') ? "" : "\n");
  log_text(text);
  tell_remainder();
}

void Progress::tell_remainder() {
  if (!on_terminal_ || quiet_) return;
  log_text(fmt::format("{}: {} of {} left, {} found, {} failed", kCompileAll, count_ - ended_,
                       count_, found_, failed_));
}

void Progress::finish() {
  if (on_terminal_ && !quiet_) log_text(kClearLine);
}

}  // namespace sluice
