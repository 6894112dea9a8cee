#include "orchestrator/store/stats.h"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "common/base/count_text.h"
#include "common/base/json.h"
#include "common/base/size_text.h"
#include "orchestrator/store/content.h"
#include "orchestrator/store/limit.h"

namespace sluice {
namespace {

constexpr char kNoRecord[] = "no record";
constexpr char kUnreadable[] = "unreadable";

struct Row {
  uint64_t records = 0;
  uint64_t artifacts = 0;
  uint64_t bytes = 0;
  uint64_t linked_bytes = 0;  // of files that have another name
  int64_t first_use = std::numeric_limits<int64_t>::max();
  int64_t last_use = 0;

  void add(const StoreFile& file) {
    (file.is_linked ? linked_bytes : bytes) += file.bytes;
    first_use = std::min(first_use, file.use);
    last_use = std::max(last_use, file.use);
  }
};

// An artifact is of the kind of the record that names it, the first by name if there are several.
std::map<std::string, Row> rows_of(const StoreContent& content) {
  std::vector<const std::string*> kinds(content.artifacts.size());
  std::map<std::string, Row> rows;
  for (const StoreRecord& record : content.records) {
    Row& row = rows[record.kind.empty() ? kUnreadable : record.kind];
    ++row.records;
    row.add(record.file);
    for (const Digest& digest : record.artifacts) {
      const StoreFile* artifact = content.find_artifact(digest);
      if (artifact == nullptr) continue;
      const std::string*& kind = kinds[static_cast<size_t>(artifact - content.artifacts.data())];
      if (kind == nullptr || record.kind < *kind) kind = &record.kind;
    }
  }
  for (size_t i = 0; i < kinds.size(); ++i) {
    Row& row = rows[kinds[i] == nullptr ? kNoRecord : *kinds[i]];
    ++row.artifacts;
    row.add(content.artifacts[i]);
  }
  return rows;
}

Row total_of(const std::map<std::string, Row>& rows) {
  Row total;
  for (const auto& [kind, row] : rows) {
    total.records += row.records;
    total.artifacts += row.artifacts;
    total.bytes += row.bytes;
    total.linked_bytes += row.linked_bytes;
    total.first_use = std::min(total.first_use, row.first_use);
    total.last_use = std::max(total.last_use, row.last_use);
  }
  return total;
}

double seconds_since(int64_t use, int64_t now) { return static_cast<double>(now - use) / 1e9; }

std::string age_text(int64_t use, int64_t now) {
  const auto seconds = static_cast<uint64_t>(seconds_since(use, now));
  if (seconds < 120) return count_text(seconds, "second");
  if (seconds < 2 * 3600) return count_text(seconds / 60, "minute");
  if (seconds < 48 * 3600) return count_text(seconds / 3600, "hour");
  return count_text(seconds / (24 * 3600), "day");
}

std::string line_of(const std::string& kind, const Row& row, int64_t now) {
  return fmt::format("{:<18} {:>8} {:>10} {:>11} {:>11}  {:>10}  {:>10}\n", kind, row.records,
                     row.artifacts, size_text(row.bytes), size_text(row.linked_bytes),
                     age_text(row.first_use, now), age_text(row.last_use, now));
}

std::string table_of(const StoreContent& content, std::optional<uint64_t> limit) {
  const std::map<std::string, Row> rows = rows_of(content);
  const Row total = total_of(rows);
  std::string text =
      fmt::format("{:<18} {:>8} {:>10} {:>11} {:>11}  {:>10}  {:>10}\n", "kind", "records",
                  "artifacts", "bytes", "linked", "oldest use", "newest use");
  for (const auto& [kind, row] : rows) text += line_of(kind, row, content.now);
  if (!rows.empty()) text += line_of("all", total, content.now);
  return text + (limit ? fmt::format("limit {}\n", size_text(*limit)) : "no limit\n");
}

Json row_json(const Row& row, int64_t now) {
  Json json;
  json.set("records", row.records);
  json.set("artifacts", row.artifacts);
  json.set("bytes", row.bytes);
  json.set("linked_bytes", row.linked_bytes);
  const bool is_empty = row.records + row.artifacts == 0;
  json.set("oldest_use_seconds", is_empty ? Json() : Json(seconds_since(row.first_use, now)));
  json.set("newest_use_seconds", is_empty ? Json() : Json(seconds_since(row.last_use, now)));
  return json;
}

Json content_json(const StoreContent& content, std::optional<uint64_t> limit) {
  const std::map<std::string, Row> rows = rows_of(content);
  Json kinds{Json::Object{}};
  for (const auto& [kind, row] : rows) kinds.set(kind, row_json(row, content.now));
  Json json = row_json(total_of(rows), content.now);
  json.set("limit", limit ? Json(*limit) : Json());
  json.set("kinds", std::move(kinds));
  return json;
}

}  // namespace

Result<std::string> stats_text(const std::string& store, bool as_json) {
  SLUICE_ASSIGN(const StoreContent content, read_content(store));
  set_known_size(content.path, content.own_bytes(), content.linked_bytes());
  const std::optional<uint64_t> limit = find_limit(content.path);
  return as_json ? json_dump(content_json(content, limit), 2) + "\n" : table_of(content, limit);
}

}  // namespace sluice
