#include "orchestrator/compile/stats.h"

#include "common/base/files.h"
#include "control.pb.h"

namespace sluice {
namespace {

Json pass_json(const pb::PassStat& pass) {
  Json json;
  json.set("name", pass.name());
  json.set("ms", pass.seconds() * 1e3);
  json.set("nodes_before", static_cast<uint64_t>(pass.nodes_before()));
  json.set("nodes_after", static_cast<uint64_t>(pass.nodes_after()));
  json.set("changed", pass.changed());
  json.set("visits", static_cast<uint64_t>(pass.visits()));
  Json work{Json::Object{}};
  for (const pb::WorkCount& count : pass.work())
    work.set(count.name(), static_cast<uint64_t>(count.count()));
  json.set("work", std::move(work));
  return json;
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
  Result<std::string> text = read_text(path);
  if (!text) return stats;
  pb::PassStats message;
  if (!message.ParseFromString(*text))
    return make_error(ErrorCode::kBadFile, "the statistics that {} wrote cannot be read", name);
  if (message.passes_size() > 0)
    stats.nodes = message.passes(message.passes_size() - 1).nodes_after();
  if (stats.nodes) stats.json.set("nodes", *stats.nodes);
  stats.json.set("waiting_ms", message.waiting_seconds() * 1e3);
  stats.json.set("reading_ms", message.reading_seconds() * 1e3);
  stats.json.set("work_ms", message.work_seconds() * 1e3);
  stats.json.set("writing_ms", message.writing_seconds() * 1e3);
  stats.json.set("reading_visits", static_cast<uint64_t>(message.reading_visits()));
  stats.json.set("writing_visits", static_cast<uint64_t>(message.writing_visits()));
  Json passes{Json::Array{}};
  for (const pb::PassStat& pass : message.passes()) passes.push(pass_json(pass));
  stats.json.set("passes", std::move(passes));
  return stats;
}

}  // namespace sluice
