#include "orchestrator/compile/stats.h"

#include "common/base/files.h"

namespace sluice {
namespace {

// Members of a stage's statistics that are those of the whole compile, too.
constexpr std::string_view kTaken[] = {"waiting_ms",     "reading_ms",     "work_ms", "writing_ms",
                                       "reading_visits", "writing_visits", "passes"};

std::optional<uint64_t> nodes_after(const Json& passes) {
  const Json::Array* const all = passes.as_array();
  const Json* const nodes =
      all == nullptr || all->empty() ? nullptr : all->back().find("nodes_after");
  const int64_t* const count = nodes == nullptr ? nullptr : nodes->as_int();
  return count == nullptr ? std::nullopt : std::optional(static_cast<uint64_t>(*count));
}

}  // namespace

Result<StageStats> stage_stats(const std::string& name, const StageReport& report,
                               const std::string& path) {
  StageStats stats;
  stats.json.set("stage", name);
  if (report.found) {
    stats.json.set("from", "store");
    return stats;
  }
  stats.json.set("ms", report.seconds * 1e3);
  stats.json.set("bytes", report.bytes);
  const Result<std::string> text = read_text(path);
  if (!text) return stats;
  const Result<Json> own = json_parse(*text);
  const Json* const passes = own ? own->find("passes") : nullptr;
  if (passes == nullptr)
    return make_error(ErrorCode::kBadFile, "the statistics that {} wrote cannot be read", name);
  stats.nodes = nodes_after(*passes);
  if (stats.nodes) stats.json.set("nodes", *stats.nodes);
  for (const std::string_view member : kTaken)
    if (const Json* value = own->find(member)) stats.json.set(std::string(member), *value);
  return stats;
}

}  // namespace sluice
