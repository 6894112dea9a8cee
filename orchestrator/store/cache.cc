#include "orchestrator/store/cache.h"

#include <charconv>
#include <cmath>

#include "common/base/count_text.h"
#include "common/base/files.h"
#include "common/base/program.h"
#include "common/base/size_text.h"
#include "orchestrator/store/collect.h"
#include "orchestrator/store/content.h"
#include "orchestrator/store/explain.h"
#include "orchestrator/store/limit.h"
#include "orchestrator/store/stats.h"
#include "orchestrator/store/verify.h"

namespace sluice {
namespace {

constexpr char kProgram[] = "sluice-cache";
constexpr double kDayInNs = 24 * 3600 * 1e9;
constexpr double kMaxDays = 100'000;

int print_unless_quiet(const CommandLine& line, const std::string& text) {
  return line.flag("--quiet") ? 0 : print_text(kProgram, text);
}

Result<int> run_stats(const CommandLine& line) {
  SLUICE_ASSIGN(const std::string text, stats_text(line.text("<dir>"), line.flag("--json")));
  return print_text(kProgram, text);
}

Result<int64_t> age_from(const std::string& text) {
  double days = 0;
  const auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), days, std::chars_format::fixed);
  if (code == std::errc() && end == text.data() + text.size() && days >= 0 && days <= kMaxDays)
    return static_cast<int64_t>(days * kDayInNs);
  return make_error(ErrorCode::kBadOption,
                    "--older-than is '{}', expected a number of days from 0 to 100000", text);
}

Result<CollectRequest> collect_request(const CommandLine& line) {
  CollectRequest request{.max_bytes = {}, .older_than = {}, .is_trial = line.flag("--dry-run")};
  if (line.has("--older-than")) {
    SLUICE_ASSIGN(request.older_than, age_from(line.text("--older-than")));
  }
  if (line.has("--max-bytes")) {
    SLUICE_ASSIGN(request.max_bytes, bytes_from_text("--max-bytes", line.text("--max-bytes")));
  } else if (!request.older_than) {
    request.max_bytes = find_limit(line.text("<dir>"));
  }
  request.goal_bytes = request.max_bytes.value_or(0);
  return request;
}

std::string count_of(const FileCount& count) {
  return fmt::format("{} and {}, {}", count_text(count.records, "record"),
                     count_text(count.artifacts, "artifact"), size_text(count.bytes));
}

std::string collected_text(const Collected& done, const CollectRequest& request) {
  std::string text =
      fmt::format("{} {}", request.is_trial ? "would delete" : "deleted", count_of(done.deleted));
  if (done.leftover > 0) text += "; " + count_text(done.leftover, "unfinished file");
  text += fmt::format("\nleft {}\n", count_of(done.left));
  if (done.in_use > 0)
    text += fmt::format("{} of these stay because running programs use them\n", done.in_use);
  return text;
}

Result<int> run_gc(const CommandLine& line) {
  SLUICE_ASSIGN(const CollectRequest request, collect_request(line));
  SLUICE_ASSIGN(const Collected done, collect(line.text("<dir>"), request));
  return print_unless_quiet(line, done.is_busy ? "another process is deleting files of this store\n"
                                               : collected_text(done, request));
}

// A store need not be there before it has a limit.
Result<int> run_limit(const CommandLine& line) {
  const std::string store = line.text("<dir>"), size = line.text("<size>");
  std::optional<uint64_t> bytes;
  if (size != "none") {
    SLUICE_ASSIGN(bytes, bytes_from_text("the limit", size));
    SLUICE_TRY(make_directories(store));
  }
  SLUICE_TRY(check_store(store));
  SLUICE_TRY(set_limit(store, bytes));
  return print_unless_quiet(line,
                            bytes ? fmt::format("limit {}\n", size_text(*bytes)) : "no limit\n");
}

Result<int> run_verify(const CommandLine& line) {
  const bool deletes = line.flag("--delete");
  SLUICE_ASSIGN(const StoreFaults faults, find_faults(line.text("<dir>"), deletes));
  std::string text;
  for (const auto* lines : {&faults.damaged, &faults.missing})
    for (const std::string& line : *lines) text += line + "\n";
  text += fmt::format("checked {} and {}\n", count_text(faults.records, "record"),
                      count_text(faults.artifacts, "artifact"));
  const int code = print_unless_quiet(line, text);
  if (code != 0 || faults.damaged.empty()) return code;
  return make_error(ErrorCode::kDifferent, "the store '{}' has {}{}", line.text("<dir>"),
                    count_text(faults.damaged.size(), "damaged file"),
                    deletes ? ", now deleted" : "")
      .with_hint(deletes ? "" : "--delete deletes them; what they were is made again when needed");
}

Result<int> run_explain(const CommandLine& line) {
  SLUICE_ASSIGN(const Explanation explanation,
                explain(line.text("<dir>"), line.text("<a>"), line.text("<b>")));
  return print_text(kProgram, line.flag("--json") ? explanation_json(explanation)
                                                  : explanation_text(explanation));
}

}  // namespace

Result<int> run_cache_command(const CommandLine& line) {
  if (line.flag("stats")) return run_stats(line);
  if (line.flag("gc")) return run_gc(line);
  if (line.flag("limit")) return run_limit(line);
  if (line.flag("verify")) return run_verify(line);
  return run_explain(line);
}

}  // namespace sluice
