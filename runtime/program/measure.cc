#include "runtime/program/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string_view>

#include "common/base/count_text.h"
#include "common/base/files.h"
#include "common/base/json.h"

namespace sluice {
namespace {

constexpr int kProfiledRuns = 20;
constexpr double kMega = 1 << 20;

// Returns the number of kilobytes after `key` in one of /proc/self's files, in MB; 0 when it cannot
// be read.
double megabytes_in(const char* file, std::string_view key) {
  const auto text = read_text(file);
  const size_t at = text ? text->find(key) : std::string::npos;
  if (at == std::string::npos) return 0;
  return std::strtod(text->c_str() + at + key.size(), nullptr) / 1024;
}

// Returns the anonymous memory of the whole process. Pages of mapped files do not count: other
// processes may map them too, even while none does ("Private_Dirty" would count those the system
// has yet to write).
double private_mb() { return megabytes_in("/proc/self/smaps_rollup", "Anonymous:"); }

// Returns the peak memory of this program alone: getrusage would include the memory of its parent
// when it started it.
double peak_rss_mb() { return megabytes_in("/proc/self/status", "VmHWM:"); }

Json rounded(double value) { return std::round(value * 1e4) / 1e4; }

Json node_json(const NodeTime& node) {
  Json json;
  json.set("name", node.name);
  json.set("op", node.op);
  json.set("engine", node.engine);
  json.set("kernel", node.kernel);
  json.set("multiply_adds", node.multiply_adds);
  json.set("operand_bytes", node.operand_bytes);
  json.set("ms", rounded(node.ms));
  if (node.cycles > 0) json.set("estimated_cycles", std::round(node.cycles));
  Json::Array origins;
  for (const std::string& origin : node.onnx_nodes) origins.emplace_back(origin);
  json.set("onnx_nodes", std::move(origins));
  return json;
}

Json pool_json(const MemoryCounters& pool) {
  Json json;
  json.set("held_bytes", pool.held_bytes);
  json.set("held_slabs", pool.held_slabs);
  json.set("most_used_bytes", pool.max_used_bytes);
  json.set("system_calls", pool.system_calls);
  return json;
}

Json bound_parts_json(const BoundPartsCounters& parts) {
  Json json;
  json.set("hits", parts.hits);
  json.set("binds", parts.binds);
  json.set("evictions", parts.evictions);
  json.set("parts", parts.parts);
  json.set("bytes", parts.bytes);
  json.set("limit_bytes", parts.limit_bytes);
  return json;
}

std::string bound_parts_text(const BoundPartsCounters& parts) {
  return fmt::format(
      "symbolic parts: bound to new sizes {}, run at sizes bound before {}, dropped {}; {} kept in "
      "{:.2f} of {:.2f} MB\n",
      count_text(parts.binds, "time"), count_text(parts.hits, "time"),
      count_text(parts.evictions, "time"), parts.parts, static_cast<double>(parts.bytes) / kMega,
      static_cast<double>(parts.limit_bytes) / kMega);
}

struct OperandBytes {
  uint64_t all = 0, host_cpu = 0;
};

OperandBytes operand_bytes(const std::vector<NodeTime>& nodes) {
  OperandBytes bytes;
  for (const NodeTime& node : nodes) {
    bytes.all += node.operand_bytes;
    if (node.engine == "host_cpu") bytes.host_cpu += node.operand_bytes;
  }
  return bytes;
}

std::string operands_text(const OperandBytes& bytes) {
  return fmt::format("operands of a run: {:.2f} MB, of which {:.2f} MB on host_cpu\n",
                     static_cast<double>(bytes.all) / kMega,
                     static_cast<double>(bytes.host_cpu) / kMega);
}

// The tasks of an op that computes nothing, and what they write.
struct Copies {
  uint64_t tasks = 0;
  uint64_t bytes = 0;
};

// Returns, by op, the tasks that only move elements.
std::map<std::string, Copies> count_copies(const std::vector<NodeTime>& nodes) {
  static constexpr std::string_view kMoves[] = {"Concat", "Identity",  "MemCopy",  "Slice",
                                                "Split",  "TransData", "Transpose"};
  std::map<std::string, Copies> copies;
  for (const NodeTime& node : nodes) {
    if (std::ranges::find(kMoves, node.op) == std::end(kMoves)) continue;
    copies[node.op].tasks += node.tasks;
    copies[node.op].bytes += node.result_bytes;
  }
  return copies;
}

Json copies_json(const std::vector<NodeTime>& nodes) {
  Json json = Json::Object{};
  for (const auto& [op, copies] : count_copies(nodes))
    json.set(op, Json::Object{{"tasks", copies.tasks}, {"bytes", copies.bytes}});
  return json;
}

std::string copies_text(const std::vector<NodeTime>& nodes) {
  std::string text;
  for (const auto& [op, copies] : count_copies(nodes))
    text += fmt::format("{}{} {} of {:.2f} MB", text.empty() ? "" : ", ", copies.tasks, op,
                        static_cast<double>(copies.bytes) / kMega);
  return "tasks that only move elements: " + (text.empty() ? "none" : text) + "\n";
}

std::string pool_text(const MemoryCounters& pool) {
  return fmt::format(
      "memory pool of the root: at most {:.2f} MB in use, {:.2f} MB held, {} from the system\n",
      static_cast<double>(pool.max_used_bytes) / kMega,
      static_cast<double>(pool.held_bytes) / kMega, count_text(pool.system_calls, "allocation"));
}

}  // namespace

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double percentile(const std::vector<double>& ascending, double share) {
  if (ascending.empty()) return 0;
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(ascending.size())));
  return ascending[std::clamp<size_t>(rank, 1, ascending.size()) - 1];
}

Result<void> measure(Session& session, int runs, Measurement& measurement) {
  for (int i = 0; i < runs; ++i) {
    const double begin = now_ms();
    SLUICE_TRY(session.run());
    measurement.run_ms.push_back(now_ms() - begin);
  }
  std::sort(measurement.run_ms.begin(), measurement.run_ms.end());
  measurement.private_mb = private_mb();
  measurement.peak_rss_mb = peak_rss_mb();
  measurement.pool = session.memory();
  measurement.bound_parts = session.bound_parts();
  SLUICE_ASSIGN(measurement.nodes, session.run_timed(std::min(runs, kProfiledRuns)));
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
  const OperandBytes bytes = operand_bytes(m.nodes);
  json.set("operand_bytes", bytes.all);
  json.set("host_cpu_bytes", bytes.host_cpu);
  json.set("copies", copies_json(m.nodes));
  if (m.pool) json.set("pool", pool_json(*m.pool));
  if (m.bound_parts) json.set("bound_parts", bound_parts_json(*m.bound_parts));
  Json::Array nodes;
  for (const NodeTime& node : m.nodes) nodes.push_back(node_json(node));
  json.set("nodes", std::move(nodes));
  return json_dump(json, 1) + "\n";
}

std::string measurement_table(const Measurement& m) {
  std::string text = fmt::format(
      "load {:.2f} ms, first run {:.2f} ms, then {} runs on {} threads: min {:.3f}, median {:.3f}, "
      "p90 {:.3f}, p99 {:.3f} ms\n",
      m.load_ms, m.first_ms, m.run_ms.size(), m.threads, percentile(m.run_ms, 0),
      percentile(m.run_ms, 0.5), percentile(m.run_ms, 0.9), percentile(m.run_ms, 0.99));
  text += fmt::format("inputs: {}\n", m.inputs);
  text += fmt::format("peak resident {:.1f} MB, private {:.1f} MB\n", m.peak_rss_mb, m.private_mb);
  if (m.pool) text += pool_text(*m.pool);
  if (m.bound_parts) text += bound_parts_text(*m.bound_parts);
  text += operands_text(operand_bytes(m.nodes));
  text += copies_text(m.nodes);
  text += "\n";
  text += fmt::format("{:>9} {:>8} {:>10}  {:10} {:18} {}\n", "ms", "GMAC/s", "MMAC", "engine",
                      "op", "node");
  for (const NodeTime& node : m.nodes) {
    const double mega = static_cast<double>(node.multiply_adds) * 1e-6;
    const bool counted =
        node.multiply_adds > 0 && node.ms > 0;  // otherwise it has none, or they are not counted
    text +=
        fmt::format("{:9.4f} {:>8} {:>10}  {:10} {:18} {}\n", node.ms,
                    counted ? fmt::format("{:.1f}", mega / node.ms) : "-",
                    counted ? fmt::format("{:.2f}", mega) : "-", node.engine, node.op, node.name);
  }
  return text;
}

Result<std::string> trace_json(Session& session) {
  SLUICE_ASSIGN(Json::Array events, session.run_traced());
  Json json;
  json.set("traceEvents", std::move(events));
  json.set("displayTimeUnit", "ms");
  return json_dump(json) + "\n";
}

}  // namespace sluice
