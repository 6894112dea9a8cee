#include "common/stage/stats.h"

#include "common/base/json.h"
#include "common/base/work.h"

namespace sluice {
namespace {

constexpr double kMsPerSecond = 1e3;

// Returns the counters that are not 0, except node_visits, which has a separate field.
Json work_json(const WorkCounts& counts) {
  Json json{Json::Object{}};
  for (size_t i = 0; i < kWorkCount; ++i) {
    const auto work = static_cast<Work>(i);
    if (counts[i] != 0 && work != Work::kNodeVisits)
      json.set(std::string(work_name(work)), counts[i]);
  }
  return json;
}

void set_times(const RuleCount::Times& times, Json& json) {
  json.set("match_times", times.matches);
  json.set("effect_times", times.effects);
}

Json pass_json(const PassReport& report) {
  Json json;
  json.set("name", report.name);
  json.set("ms", report.seconds * kMsPerSecond);
  json.set("nodes_before", report.nodes_before);
  json.set("nodes_after", report.nodes_after);
  json.set("changed", report.changed);
  json.set("visits", report.work[static_cast<size_t>(Work::kNodeVisits)]);
  json.set("work", work_json(report.work));
  if (report.rules.empty()) return json;
  Json rules{Json::Array{}};
  for (const RuleCount& count : report.rules) {
    Json rule;
    rule.set("rule", count.rule);
    set_times(count.times, rule);
    if (count.patterns.size() > 1) {
      Json patterns{Json::Array{}};
      for (const RuleCount::Times& times : count.patterns) {
        Json pattern;
        set_times(times, pattern);
        patterns.push(std::move(pattern));
      }
      rule.set("patterns", std::move(patterns));
    }
    if (!count.obstacle.empty()) rule.set("obstacle", count.obstacle);
    rules.push(std::move(rule));
  }
  json.set("rules", std::move(rules));
  return json;
}

}  // namespace

Result<StatsFile> StatsFile::create(const std::string& path) {
  if (path.empty()) return StatsFile(std::nullopt);
  SLUICE_ASSIGN(FileWriter writer, FileWriter::create(path));
  return StatsFile(std::move(writer));
}

Result<void> StatsFile::write(std::string_view stage, const std::vector<PassReport>& reports,
                              const StageTimes& times) {
  if (!writer_) return {};
  Json stats;
  stats.set("stage", stage);
  stats.set("ms", times.total * kMsPerSecond);
  stats.set("waiting_ms", times.waiting * kMsPerSecond);
  stats.set("reading_ms", times.reading * kMsPerSecond);
  stats.set("work_ms", times.work * kMsPerSecond);
  stats.set("writing_ms", times.writing * kMsPerSecond);
  stats.set("reading_visits", times.reading_visits);
  stats.set("writing_visits", times.writing_visits);
  Json passes{Json::Array{}};
  for (const PassReport& report : reports) passes.push(pass_json(report));
  stats.set("passes", std::move(passes));
  SLUICE_TRY(writer_->write(json_dump(stats, 2) + "\n"));
  return writer_->commit();
}

}  // namespace sluice
