// Statistics of the stages of one compilation, as one JSON text:
// {"stages": [{"stage", "ms", "bytes", "nodes", "waiting_ms", "reading_ms", "work_ms",
// "writing_ms", "reading_visits", "writing_visits",
//              "passes": [{"name", "ms", "nodes_before", "nodes_after", "changed", "visits",
//              "work": {"<counter>": count}}]}]}
// Times are wall-clock milliseconds; "bytes" is what the stage wrote; "nodes" those after its last
// pass. See docs/statistics.md.
#pragma once

#include <optional>
#include <string>

#include "common/base/json.h"
#include "common/base/result.h"
#include "orchestrator/compile/stage_run.h"

namespace sluice {

struct StageStats {
  Json json;
  std::optional<uint64_t> nodes;
};

// Reads the statistics that the stage wrote to `path`, with --stats; without such a file, only the
// measurements of the orchestrator. Errors: kBadFile.
Result<StageStats> stage_stats(const std::string& name, const StageReport& report,
                               const std::string& path);

}  // namespace sluice
