#include "common/stage/stats.h"

#include "common/base/json.h"
#include "common/base/work.h"

namespace sluice {
namespace {

// Visits the counters that are not 0, except node_visits, which has a separate field.
template <typename Function>
void for_each_count(const WorkCounts& counts, Function function) {
  for (size_t i = 0; i < kWorkCount; ++i) {
    const auto work = static_cast<Work>(i);
    if (counts[i] != 0 && work != Work::kNodeVisits) function(work_name(work), counts[i]);
  }
}

uint64_t visits(const PassReport& report) {
  return report.work[static_cast<size_t>(Work::kNodeVisits)];
}

std::string as_json(std::string_view stage, const std::vector<PassReport>& reports,
                    const StageTimes& times) {
  Json passes = Json::Array{};
  for (const PassReport& report : reports) {
    Json pass;
    pass.set("name", report.name);
    pass.set("seconds", report.seconds);
    pass.set("nodes_before", report.nodes_before);
    pass.set("nodes_after", report.nodes_after);
    pass.set("changed", report.changed);
    pass.set("visits", visits(report));
    Json work{Json::Object{}};
    for_each_count(report.work, [&](std::string_view name, uint64_t count) {
      work.set(std::string(name), count);
    });
    pass.set("work", std::move(work));
    passes.push(std::move(pass));
  }
  Json stats;
  stats.set("stage", stage);
  stats.set("seconds", times.total);
  stats.set("waiting_seconds", times.waiting);
  stats.set("reading_seconds", times.reading);
  stats.set("work_seconds", times.work);
  stats.set("writing_seconds", times.writing);
  stats.set("reading_visits", times.reading_visits);
  stats.set("writing_visits", times.writing_visits);
  stats.set("passes", std::move(passes));
  return json_dump(stats, 2) + "\n";
}

}  // namespace

pb::PassStats stats_message(std::string_view stage, const std::vector<PassReport>& reports,
                            const StageTimes& times) {
  pb::PassStats stats;
  stats.set_stage(std::string(stage));
  stats.set_seconds(times.total);
  stats.set_waiting_seconds(times.waiting);
  stats.set_reading_seconds(times.reading);
  stats.set_work_seconds(times.work);
  stats.set_writing_seconds(times.writing);
  stats.set_reading_visits(times.reading_visits);
  stats.set_writing_visits(times.writing_visits);
  for (const PassReport& report : reports) {
    pb::PassStat& pass = *stats.add_passes();
    pass.set_name(std::string(report.name));
    pass.set_seconds(report.seconds);
    pass.set_nodes_before(report.nodes_before);
    pass.set_nodes_after(report.nodes_after);
    pass.set_changed(report.changed);
    pass.set_visits(visits(report));
    for_each_count(report.work, [&](std::string_view name, uint64_t count) {
      pb::WorkCount& work = *pass.add_work();
      work.set_name(std::string(name));
      work.set_count(count);
    });
  }
  return stats;
}

Result<StatsFile> StatsFile::create(const std::string& path) {
  if (path.empty()) return StatsFile(std::nullopt, false);
  SLUICE_ASSIGN(FileWriter writer, FileWriter::create(path));
  return StatsFile(std::move(writer), path.ends_with(".json"));
}

Result<void> StatsFile::write(std::string_view stage, const std::vector<PassReport>& reports,
                              const StageTimes& times) {
  if (!writer_) return {};
  SLUICE_TRY(writer_->write(is_json_ ? as_json(stage, reports, times)
                                     : stats_message(stage, reports, times).SerializeAsString()));
  return writer_->commit();
}

}  // namespace sluice
