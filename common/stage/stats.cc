#include "common/stage/stats.h"

#include "common/base/files.h"
#include "common/base/json.h"
#include "control.pb.h"

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

std::string as_message(std::string_view stage, const std::vector<PassReport>& reports, double seconds) {
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
  return stats.SerializeAsString();
}

}  // namespace

Result<void> write_stats(const std::string& path, std::string_view stage, const std::vector<PassReport>& reports, double seconds) {
  if (path.empty()) return {};
  return write_text(path, path.ends_with(".json") ? as_json(stage, reports, seconds) : as_message(stage, reports, seconds));
}

}  // namespace sluice
