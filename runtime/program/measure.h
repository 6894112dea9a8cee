// Measures runs for --bench and --trace.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/program/session.h"

namespace sluice {

double now_ms();  // on a clock that never goes back

struct Measurement {
  std::string inputs;  // inputs_text.h
  double load_ms = 0;
  double first_ms = 0;
  std::vector<double> run_ms;  // ascending
  double peak_rss_mb = 0;
  double private_mb = 0;  // memory of this process that no other can share
  int threads = 1;
  std::optional<MemoryCounters> pool;  // after the runs, of values outside of parts
  std::optional<BoundPartsCounters> bound_parts;
  std::vector<NodeTime> nodes;  // in the order of their first tasks
};

// Runs the model `runs` times without observers, then up to 20 times with the times of tasks.
Result<void> measure(Session& session, int runs, Measurement& measurement);

std::string measurement_json(const Measurement& measurement);
std::string measurement_table(const Measurement& measurement);

// Returns one run as Chrome trace JSON: a track for each stream, and one for the walk over a root.
Result<std::string> trace_json(Session& session);

double percentile(const std::vector<double>& ascending, double share);  // nearest rank

}  // namespace sluice
