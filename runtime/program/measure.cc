#include "runtime/program/measure.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>

#include "common/base/files.h"
#include "common/base/json.h"
#include "runtime/loader/om_names.h"

namespace sluice {
namespace {

constexpr int kProfiledRuns = 20;

double now_ms() { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return percentile(values, 0.5);
}

// Anonymous memory of the whole process. Pages of mapped files do not count: others may map them too, even while nobody does
// ("Private_Dirty" would count those the system has yet to write to the disk).
double private_mb() {
  const auto text = read_text("/proc/self/smaps_rollup");
  const size_t at = text ? text->find("Anonymous:") : std::string::npos;
  return at == std::string::npos ? 0 : std::strtod(text->c_str() + at + 10, nullptr) / 1024;
}

double peak_rss_mb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

bool is_work(const pb::FixedPart& part, int task) {
  return part.task_kind(task) != pb::TASK_RECORD && part.task_kind(task) != pb::TASK_WAIT;
}

// Index of the node a task belongs to: of an absent column, -1.
template <typename Column>
bool covers(const Column& column, uint32_t node) {
  return node < static_cast<uint32_t>(column.size());
}

NodeTime describe_node(const pb::ModelDef& model, const NodeNames& names, const pb::FixedPart& part, int task) {
  const uint32_t index = part.task_node(task);
  const int node = static_cast<int>(index);
  NodeTime time;
  time.name = names[index];
  if (covers(model.node_op(), index)) time.op = model.ops(static_cast<int>(model.node_op(node)));
  if (covers(model.node_engine(), index)) time.engine = model.engines(static_cast<int>(model.node_engine(node)));
  if (covers(model.node_multiply_adds(), index)) time.multiply_adds = model.node_multiply_adds(node);
  time.onnx_nodes = names.origins(index);
  const pb::TaskKind kind = part.task_kind(task);
  if (kind == pb::TASK_LAUNCH || kind == pb::TASK_TEST) time.kernel = model.kernels(static_cast<int>(part.task_target(task))).entry();
  if (time.engine.empty()) time.engine = kind == pb::TASK_HOST ? "host_cpu" : kind == pb::TASK_COPY ? "rts" : "";
  return time;
}

// Medians of the times of tasks over some runs, summed by node.
std::vector<NodeTime> node_times(const StaticModel& model, const std::vector<std::vector<TaskTime>>& runs) {
  const pb::FixedPart& part = model.part();
  const NodeNames names(model.def());
  std::vector<NodeTime> nodes;
  std::vector<int> slot(model.def().nodes(), -1);
  for (int task = 0; task < part.task_kind_size(); ++task) {
    if (!is_work(part, task)) continue;
    int& index = slot[part.task_node(task)];
    if (index < 0) {
      index = static_cast<int>(nodes.size());
      nodes.push_back(describe_node(model.def(), names, part, task));
    }
    std::vector<double> ms;
    for (const auto& times : runs) {
      const TaskTime& time = times[static_cast<size_t>(task)];
      ms.push_back(static_cast<double>(time.end_ns - time.begin_ns) * 1e-6);
    }
    nodes[static_cast<size_t>(index)].ms += median(std::move(ms));
  }
  return nodes;
}

Json rounded(double value) { return std::round(value * 1e4) / 1e4; }

Json node_json(const NodeTime& node) {
  Json json;
  json.set("name", node.name);
  json.set("op", node.op);
  json.set("engine", node.engine);
  json.set("kernel", node.kernel);
  json.set("multiply_adds", node.multiply_adds);
  json.set("ms", rounded(node.ms));
  Json::Array origins;
  for (const std::string& origin : node.onnx_nodes) origins.emplace_back(origin);
  json.set("onnx_nodes", std::move(origins));
  return json;
}

}  // namespace

double percentile(const std::vector<double>& ascending, double share) {
  if (ascending.empty()) return 0;
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(ascending.size())));
  return ascending[std::clamp<size_t>(rank, 1, ascending.size()) - 1];
}

Result<void> measure(Run& run, int runs, Measurement& measurement) {
  for (int i = 0; i < runs; ++i) {
    const double begin = now_ms();
    SLUICE_TRY(run.execute());
    measurement.run_ms.push_back(now_ms() - begin);
  }
  std::sort(measurement.run_ms.begin(), measurement.run_ms.end());
  measurement.private_mb = private_mb();
  measurement.peak_rss_mb = peak_rss_mb();
  std::vector<std::vector<TaskTime>> times(static_cast<size_t>(std::min(runs, kProfiledRuns)));
  for (auto& one : times) {
    one.resize(run.model().queue().tasks.size());
    WalkObserver observer;
    observer.times = &one;
    SLUICE_TRY(run.execute(observer));
  }
  measurement.nodes = node_times(run.model(), times);
  return {};
}

std::string measurement_json(const Measurement& m) {
  Json json;
  json.set("load_ms", rounded(m.load_ms));
  json.set("first_ms", rounded(m.first_ms));
  json.set("min_ms", rounded(percentile(m.run_ms, 0)));
  json.set("median_ms", rounded(percentile(m.run_ms, 0.5)));
  json.set("p90_ms", rounded(percentile(m.run_ms, 0.9)));
  json.set("p99_ms", rounded(percentile(m.run_ms, 0.99)));
  json.set("peak_rss_mb", rounded(m.peak_rss_mb));
  json.set("private_mb", rounded(m.private_mb));
  json.set("threads", m.threads);
  Json::Array nodes;
  for (const NodeTime& node : m.nodes) nodes.push_back(node_json(node));
  json.set("nodes", std::move(nodes));
  return json_dump(json, 1) + "\n";
}

std::string measurement_table(const Measurement& m) {
  std::string text =
      fmt::format("load {:.2f} ms, first run {:.2f} ms, then {} runs on {} threads: min {:.3f}, median {:.3f}, p90 {:.3f}, p99 {:.3f} ms\n",
                  m.load_ms, m.first_ms, m.run_ms.size(), m.threads, percentile(m.run_ms, 0), percentile(m.run_ms, 0.5),
                  percentile(m.run_ms, 0.9), percentile(m.run_ms, 0.99));
  text += fmt::format("peak resident {:.1f} MB, private {:.1f} MB\n\n", m.peak_rss_mb, m.private_mb);
  text += fmt::format("{:>9} {:>8} {:>10}  {:10} {:18} {}\n", "ms", "GMAC/s", "MMAC", "engine", "op", "node");
  for (const NodeTime& node : m.nodes) {
    const double mega = static_cast<double>(node.multiply_adds) * 1e-6;
    const bool counted = node.multiply_adds > 0 && node.ms > 0;  // else it has none, or nobody counts them
    text += fmt::format("{:9.4f} {:>8} {:>10}  {:10} {:18} {}\n", node.ms, counted ? fmt::format("{:.1f}", mega / node.ms) : "-",
                        counted ? fmt::format("{:.2f}", mega) : "-", node.engine, node.op, node.name);
  }
  return text;
}

Result<std::string> trace_json(Run& run) {
  const pb::FixedPart& part = run.model().part();
  std::vector<TaskTime> times(run.model().queue().tasks.size());
  WalkObserver observer;
  observer.times = &times;
  SLUICE_TRY(run.execute(observer));
  Json::Array events;
  for (int s = 0; s < part.streams_size(); ++s) {
    Json name;
    name.set("name", part.streams(s).name());
    events.push_back(Json::Object{{"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", s}, {"args", std::move(name)}});
  }
  int64_t start = INT64_MAX;
  for (int t = 0; t < part.task_kind_size(); ++t) {
    if (is_work(part, t)) start = std::min(start, times[static_cast<size_t>(t)].begin_ns);
  }
  const NodeNames names(run.model().def());
  for (int t = 0; t < part.task_kind_size(); ++t) {
    if (!is_work(part, t)) continue;
    const TaskTime& time = times[static_cast<size_t>(t)];
    const NodeTime node = describe_node(run.model().def(), names, part, t);
    Json about;
    about.set("task", t);
    about.set("op", node.op);
    about.set("kernel", node.kernel);
    events.push_back(Json::Object{{"name", node.name},
                                  {"cat", node.engine},
                                  {"ph", "X"},
                                  {"pid", 1},
                                  {"tid", static_cast<int>(part.task_stream(t))},
                                  {"ts", static_cast<double>(time.begin_ns - start) * 1e-3},
                                  {"dur", static_cast<double>(time.end_ns - time.begin_ns) * 1e-3},
                                  {"args", std::move(about)}});
  }
  Json json;
  json.set("traceEvents", std::move(events));
  json.set("displayTimeUnit", "ms");
  return json_dump(json) + "\n";
}

}  // namespace sluice
