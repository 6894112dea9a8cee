#include <map>
#include <set>

#include "common/tools/show.h"

namespace sluice {
namespace {

constexpr std::string_view kKinds[] = {"small", "bytes", "splat", "expression", "parameter"};

std::string counts(const std::map<std::string, size_t>& numbers) {
  std::string result;
  for (const auto& [name, number] : numbers)
    result += fmt::format("{}{} {}", result.empty() ? "" : ", ", number, name);
  return result.empty() ? "none" : result;
}

}  // namespace

std::string summary_text(const Module& module) {
  std::map<std::string, size_t> roles, ops, engines;
  std::map<std::string, uint64_t> kinds, bytes;
  std::set<SegmentId> segments;
  size_t nodes = 0, values = 0;
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (!module.has_graph(id)) continue;
    const Graph& graph = module.graph(id);
    ++roles[std::string(kGraphRoleNames[static_cast<size_t>(graph.role)])];
    nodes += graph.node_count();
    for (const Node& node : graph.nodes()) {
      ++ops[std::string(op_name(node.op()))];
      if (node.placement.engine != EngineId::kNone)
        ++engines[std::string(engine_name(node.placement.engine))];
    }
    for (const Value& value : graph.values()) {
      values += value.is_erased() ? 0 : 1;
      if (!value.is_erased() && value.is_constant()) segments.insert(value.segment());
    }
  }
  for (const SegmentId id : segments) {
    const std::string kind(kKinds[static_cast<size_t>(module.segment(id).kind)]);
    ++kinds[kind];
    bytes[kind] += module.segment(id).size;
  }
  std::string text =
      fmt::format("level {}, after {}\n", level_name(module.level), stage_name(module.last_stage));
  text += fmt::format("graphs: {}\nnodes: {}, values: {}\nops: {}\n", counts(roles), nodes, values,
                      counts(ops));
  if (!engines.empty()) text += fmt::format("engines: {}\n", counts(engines));
  for (const auto& [kind, number] : kinds)
    text += fmt::format("constants, {}: {} with {} bytes\n", kind, number, bytes[kind]);
  text += fmt::format("symbols: {}, kernels: {}\n", module.expressions.symbol_count(),
                      module.kernel_count());
  return text;
}

}  // namespace sluice
