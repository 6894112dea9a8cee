// What --bench and --trace say about runs.
#pragma once

#include <string>
#include <vector>

#include "runtime/executor/run.h"

namespace sluice {

struct NodeTime {
  std::string name;  // of the lowered graph's node
  std::string op;    // empty when the model does not say
  std::string engine;
  std::string kernel;  // entry name; of several tasks, the first's; empty without generated code
  uint64_t multiply_adds = 0;
  double ms = 0;                        // median over the measured runs, summed over the node's tasks
  std::vector<std::string> onnx_nodes;  // the user's nodes it came from
};

struct Measurement {
  double load_ms = 0;
  double first_ms = 0;
  std::vector<double> run_ms;  // ascending
  double peak_rss_mb = 0;
  double private_mb = 0;  // memory of this process that no other can share
  int threads = 1;
  std::vector<NodeTime> nodes;  // in the order of their first tasks
};

// Runs `runs` times without looking, then up to 20 times with the times of tasks.
Result<void> measure(Run& run, int runs, Measurement& measurement);

std::string measurement_json(const Measurement& measurement);
std::string measurement_table(const Measurement& measurement);

// One run's tasks as Chrome trace JSON: a track for each stream.
Result<std::string> trace_json(Run& run);

double percentile(const std::vector<double>& ascending, double share);  // nearest rank

}  // namespace sluice
