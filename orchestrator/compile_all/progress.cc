#include "orchestrator/compile_all/progress.h"

#include <unistd.h>

#include <algorithm>

#include "common/base/log.h"
#include "common/base/size_text.h"

namespace sluice {
namespace {

constexpr std::chrono::milliseconds kRedraw{500};
// Of the table: terminals have at least 24 lines of 80 columns.
constexpr size_t kMaxRows = 12, kMaxName = 60;

// Returns the end of a long name.
std::string shortened(const std::string& name) {
  return name.size() <= kMaxName ? name : "..." + name.substr(name.size() - kMaxName + 3);
}

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
    : quiet_(quiet), has_table_(!quiet && isatty(STDERR_FILENO) != 0), count_(count) {
  // Without a thread the table is drawn when something begins or ends.
  if (has_table_) static_cast<void>(threads_.start([this] { draw_often(); }).ok());
}

Progress::~Progress() {
  const std::lock_guard lock(mutex_);
  is_over_ = true;
  over_.notify_all();
  if (has_table_) log_text(erased());
}

void Progress::begin(const std::string& name) {
  if (!has_table_) return;
  const std::lock_guard lock(mutex_);
  running_.emplace(name, Clock::now());
  redraw({});
}

void Progress::end(const std::string& name) {
  if (!has_table_) return;
  const std::lock_guard lock(mutex_);
  running_.erase(name);
  redraw({});
}

void Progress::report(const Outcome& outcome) {
  const std::lock_guard lock(mutex_);
  ++ended_;
  failed_ += outcome.status == Status::kFailed ? 1 : 0;
  found_ += outcome.status == Status::kFound ? 1 : 0;
  if (quiet_ && outcome.status != Status::kFailed) return;
  std::string lines = fmt::format("{}: [{}/{}] {:<6} {}", kCompileAll, ended_, count_,
                                  status_name(outcome.status), outcome.request.output);
  if (outcome.bytes > 0) lines += "  " + size_text(outcome.bytes);
  lines += "\n" + outcome.text;
  if (!lines.ends_with('\n')) lines += "\n";
  redraw(lines);
}

void Progress::warn(const std::string& text) {
  const std::lock_guard lock(mutex_);
  redraw(fmt::format("{}: warning: {}\n", kCompileAll, text));
}

void Progress::redraw(const std::string& lines) {
  if (!has_table_) return log_text(lines);
  const std::string before = erased();
  const std::string after = table();
  drawn_ = static_cast<size_t>(std::ranges::count(after, '\n'));
  log_text(before + lines + after);
}

std::string Progress::erased() const {
  return drawn_ == 0 ? std::string() : fmt::format("\x1b[{}A\x1b[J", drawn_);
}

std::string Progress::table() const {
  std::string text = fmt::format("{} of {} ended: {} found, {} failed; {} begun\n", ended_, count_,
                                 found_, failed_, running_.size());
  size_t rows = 0;
  for (const auto& [name, start] : running_) {
    if (++rows > kMaxRows) break;
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    text += fmt::format("{:>9.1f} s  {}\n", seconds, shortened(name));
  }
  return text;
}

void Progress::draw_often() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    over_.wait_for(lock, kRedraw);
    if (!is_over_ && !running_.empty()) redraw({});
  }
}

}  // namespace sluice
