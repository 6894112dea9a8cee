#include "common/stage/stats.h"

#include "common/base/json.h"

namespace sluice {
namespace {

std::string as_json(std::string_view stage, const std::vector<PassReport>& reports, double seconds) {
  Json passes = Json::Array{};
  for (const PassReport& report : reports) {
    Json pass;
    pass.set("name", report.name);
    pass.set("seconds", report.seconds);
    pass.set("nodes_before", report.nodes_before);
    pass.set("nodes_after", report.nodes_after);
    pass.set("changed", report.changed);
    passes.push(std::move(pass));
  }
  Json stats;
  stats.set("stage", stage);
  stats.set("seconds", seconds);
  stats.set("passes", std::move(passes));
  return json_dump(stats, 2) + "\n";
}

}  // namespace

pb::PassStats stats_message(std::string_view stage, const std::vector<PassReport>& reports, double seconds) {
  pb::PassStats stats;
  stats.set_stage(std::string(stage));
  stats.set_seconds(seconds);
  for (const PassReport& report : reports) {
    pb::PassStat& pass = *stats.add_passes();
    pass.set_name(std::string(report.name));
    pass.set_seconds(report.seconds);
    pass.set_nodes_before(report.nodes_before);
    pass.set_nodes_after(report.nodes_after);
    pass.set_changed(report.changed);
  }
  return stats;
}

Result<StatsFile> StatsFile::create(const std::string& path) {
  if (path.empty()) return StatsFile(std::nullopt, false);
  SLUICE_ASSIGN(FileWriter writer, FileWriter::create(path));
  return StatsFile(std::move(writer), path.ends_with(".json"));
}

Result<void> StatsFile::write(std::string_view stage, const std::vector<PassReport>& reports, double seconds) {
  if (!writer_) return {};
  SLUICE_TRY(writer_->write(is_json_ ? as_json(stage, reports, seconds) : stats_message(stage, reports, seconds).SerializeAsString()));
  return writer_->commit();
}

}  // namespace sluice
