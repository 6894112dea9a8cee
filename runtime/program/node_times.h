// Converts times of tasks to times of nodes, and to events of a trace.
#pragma once

#include <string>
#include <vector>

#include "common/base/json.h"
#include "common/omfile/om_names.h"
#include "runtime/device/task_queue.h"
#include "runtime/executor/static_model.h"

namespace sluice {

struct NodeTime {
  std::string name;  // of the lowered graph's node
  std::string op;    // empty when the model does not say
  std::string engine;
  std::string kernel;  // entry name; of several tasks, the first's; empty without generated code
  uint64_t multiply_adds = 0;
  uint64_t operand_bytes = 0;  // per run: of what its tasks read and write, each operand whole
  uint64_t result_bytes = 0;   // of these, what they write
  uint64_t tasks = 0;          // per run
  double cycles = 0;           // per run: estimated for one thread; 0: not known
  double ms = 0;               // median over the measured runs, summed over the node's tasks
  std::vector<std::string> onnx_nodes;  // the user's nodes it came from
};

// Describes a node from the model; without a time.
NodeTime describe_node(const pb::ModelDef& model, const NodeNames& names, uint32_t node);

// Returns the estimate for a task without a kernel: that of moving its operands.
double line_cycles(const pb::ModelDef& model, uint64_t bytes);

double median_ms(const std::vector<std::vector<TaskTime>>& runs, size_t task);

// Appends the nodes of a part to `nodes`. bound: the part with its sizes; null where it did not
// run. runs: one time per task.
void add_node_times(const pb::ModelDef& model, const NodeNames& names, const pb::FixedPart& part,
                    const StaticModel* bound, const std::vector<std::vector<TaskTime>>& runs,
                    std::vector<NodeTime>& nodes);

// Makes the event that names a track, and an event on a track. start_ns: the trace's zero.
Json track_event(int track, const std::string& name);
Json time_event(int track, const NodeTime& node, const TaskTime& time, int64_t start_ns,
                Json about);
// Adds the tasks of a part, the number-th of the model, on a track for each stream, the first of
// them `track`, and an instant for each value that no task makes.
void add_task_events(const pb::ModelDef& model, const NodeNames& names, const pb::FixedPart& part,
                     int number, const std::vector<TaskTime>& times, int track, int64_t start_ns,
                     const std::string& prefix, Json::Array& events);
// Returns when the first of a part's tasks began.
int64_t first_begin(const pb::FixedPart& part, const std::vector<TaskTime>& times);

}  // namespace sluice
