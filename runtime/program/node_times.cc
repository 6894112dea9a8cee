#include "runtime/program/node_times.h"

#include <algorithm>

#include "common/base/dtype.h"
#include "common/omfile/bind_part.h"
#include "runtime/program/measure.h"

namespace sluice {
namespace {

bool is_work(const pb::FixedPart& part, int task) {
  return part.task_kind(task) != pb::TASK_RECORD && part.task_kind(task) != pb::TASK_WAIT;
}

// Returns whether a column has an entry for a node; an absent column has none.
template <typename Column>
bool covers(const Column& column, uint32_t node) {
  return node < static_cast<uint32_t>(column.size());
}

// Returns the bytes of a value's own elements: without what lies between its rows.
uint64_t own_bytes(const pb::FixedPart& part, const StaticModel* bound, int value) {
  if (bound == nullptr || part.value_capacity_size() == 0 || part.value_capacity(value) == 0)
    return part.value_bytes(value);
  const pb::TypeDef& type = bound->def().types(static_cast<int>(part.value_type(value)));
  uint64_t elements = 1;
  for (const int64_t extent : bound->extents(part.value_type(value)))
    elements *= static_cast<uint64_t>(extent);
  return dtype_bytes(static_cast<DType>(type.dtype()), elements);
}

// Adds the bytes of a task's operands that are present.
void add_bytes(const pb::FixedPart& part, const StaticModel* bound, int task, NodeTime& node) {
  constexpr uint32_t kAbsent = 0xffffffff;
  const uint32_t begin = task == 0 ? 0 : part.task_operand_end(task - 1);
  for (uint32_t i = begin; i < part.task_operand_end(task); ++i) {
    const uint32_t value = part.operand(static_cast<int>(i));
    if (value == kAbsent) continue;
    const uint64_t bytes = own_bytes(part, bound, static_cast<int>(value));
    node.operand_bytes += bytes;
    if (i - begin < part.task_outputs(task)) node.result_bytes += bytes;
  }
}

// Returns the estimate for a launch at the sizes of this run; 0 when they are not known.
double launch_cycles(const pb::ModelDef& model, const pb::FixedPart& part, const StaticModel* bound,
                     int task) {
  const pb::KernelDef& kernel = model.kernels(static_cast<int>(part.task_target(task)));
  if (!kernel.symbolic()) return static_cast<double>(kernel.cycles());
  if (bound == nullptr) return 0;
  std::vector<int64_t> dims;
  const uint32_t begin = task == 0 ? 0 : part.task_operand_end(task - 1);
  for (uint32_t i = begin; i < part.task_operand_end(task); ++i) {
    const auto value = static_cast<int>(part.operand(static_cast<int>(i)));
    for (const int64_t extent : bound->extents(part.value_type(value))) dims.push_back(extent);
  }
  const auto size = size_launch(kernel, dims);
  return size ? size->cycles : 0;
}

NodeTime describe_task(const pb::ModelDef& model, const NodeNames& names, const pb::FixedPart& part,
                       int task) {
  NodeTime time = describe_node(model, names, part.task_node(task));
  const pb::TaskKind kind = part.task_kind(task);
  if (kind == pb::TASK_LAUNCH || kind == pb::TASK_TEST)
    time.kernel = model.kernels(static_cast<int>(part.task_target(task))).entry();
  if (time.engine.empty())
    time.engine = kind == pb::TASK_HOST ? "host_cpu" : kind == pb::TASK_COPY ? "rts" : "";
  return time;
}

}  // namespace

NodeTime describe_node(const pb::ModelDef& model, const NodeNames& names, uint32_t index) {
  const int node = static_cast<int>(index);
  NodeTime time;
  time.name = names[index];
  if (covers(model.node_op(), index)) time.op = model.ops(static_cast<int>(model.node_op(node)));
  if (covers(model.node_engine(), index))
    time.engine = model.engines(static_cast<int>(model.node_engine(node)));
  if (covers(model.node_multiply_adds(), index))
    time.multiply_adds = model.node_multiply_adds(node);
  time.onnx_nodes = names.origins(index);
  return time;
}

double line_cycles(const pb::ModelDef& model, uint64_t bytes) {
  return static_cast<double>(bytes) / 64 * model.memory_line() / 100;
}

double median_ms(const std::vector<std::vector<TaskTime>>& runs, size_t task) {
  std::vector<double> ms;
  for (const auto& times : runs) {
    if (task < times.size())
      ms.push_back(static_cast<double>(times[task].end_ns - times[task].begin_ns) * 1e-6);
  }
  std::sort(ms.begin(), ms.end());
  return percentile(ms, 0.5);
}

void add_node_times(const pb::ModelDef& model, const NodeNames& names, const pb::FixedPart& part,
                    const StaticModel* bound, const std::vector<std::vector<TaskTime>>& runs,
                    std::vector<NodeTime>& nodes) {
  std::vector<int> slot(model.nodes(), -1);
  for (int task = 0; task < part.task_kind_size(); ++task) {
    if (!is_work(part, task)) continue;
    int& index = slot[part.task_node(task)];
    if (index < 0) {
      index = static_cast<int>(nodes.size());
      nodes.push_back(describe_task(model, names, part, task));
    }
    NodeTime& node = nodes[static_cast<size_t>(index)];
    node.ms += median_ms(runs, static_cast<size_t>(task));
    node.tasks += 1;
    const uint64_t bytes_before = node.operand_bytes;
    add_bytes(part, bound, task, node);
    node.cycles += part.task_kind(task) == pb::TASK_LAUNCH
                       ? launch_cycles(model, part, bound, task)
                       : line_cycles(model, node.operand_bytes - bytes_before);
  }
}

Json track_event(int track, const std::string& name) {
  Json args;
  args.set("name", name);
  return Json::Object{
      {"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", track}, {"args", std::move(args)}};
}

Json time_event(int track, const NodeTime& node, const TaskTime& time, int64_t start_ns,
                Json about) {
  return Json::Object{{"name", node.name},
                      {"cat", node.engine},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", track},
                      {"ts", static_cast<double>(time.begin_ns - start_ns) * 1e-3},
                      {"dur", static_cast<double>(time.end_ns - time.begin_ns) * 1e-3},
                      {"args", std::move(about)}};
}

namespace {

// Adds an instant for each value that no task makes, when what it shows is complete.
void add_no_task_events(const pb::FixedPart& part, const std::vector<TaskTime>& times, int track,
                        int64_t start_ns, Json::Array& events) {
  const ValueNames names(part);
  for (int i = 0; i < part.alias_value_size(); ++i) {
    const auto after = static_cast<int>(part.alias_after_task(i));
    const int64_t end_ns = times[static_cast<size_t>(after)].end_ns;
    Json about;
    about.set("task", "none: its bytes are those of others");
    events.push_back(Json::Object{{"name", names[part.alias_value(i)]},
                                  {"cat", "no task"},
                                  {"ph", "i"},
                                  {"s", "t"},
                                  {"pid", 1},
                                  {"tid", track + static_cast<int>(part.task_stream(after))},
                                  {"ts", static_cast<double>(end_ns - start_ns) * 1e-3},
                                  {"args", std::move(about)}});
  }
}

}  // namespace

void add_task_events(const pb::ModelDef& model, const NodeNames& names, const pb::FixedPart& part,
                     int number, const std::vector<TaskTime>& times, int track, int64_t start_ns,
                     const std::string& prefix, Json::Array& events) {
  for (int s = 0; s < part.streams_size(); ++s)
    events.push_back(track_event(track + s, prefix + part.streams(s).name()));
  for (int task = 0; task < part.task_kind_size(); ++task) {
    if (!is_work(part, task)) continue;
    const NodeTime node = describe_task(model, names, part, task);
    Json about;
    about.set("part", number);
    about.set("task", task);
    about.set("op", node.op);
    about.set("kernel", node.kernel);
    events.push_back(time_event(track + static_cast<int>(part.task_stream(task)), node,
                                times[static_cast<size_t>(task)], start_ns, std::move(about)));
  }
  add_no_task_events(part, times, track, start_ns, events);
}

int64_t first_begin(const pb::FixedPart& part, const std::vector<TaskTime>& times) {
  int64_t first = INT64_MAX;
  for (int task = 0; task < part.task_kind_size(); ++task) {
    if (is_work(part, task)) first = std::min(first, times[static_cast<size_t>(task)].begin_ns);
  }
  return first;
}

}  // namespace sluice
