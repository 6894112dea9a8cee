#include "stages/subgraph-optimize/rename.h"

#include <map>

namespace sluice {
namespace {

using NameMap = std::map<std::string, std::string>;

std::string renamed(const NameMap& names, const std::string& name) {
  if (const auto found = names.find(name); found != names.end()) return found->second;
  const size_t suffix = name.rfind(':');
  if (suffix == std::string::npos) return name;
  const auto found = names.find(name.substr(0, suffix));
  return found == names.end() ? name : found->second + name.substr(suffix);
}

NameMap pair_up(const std::vector<std::string>& from, const std::vector<std::string>& to) {
  NameMap names;
  for (size_t i = 0; i < from.size(); ++i) {
    if (!from[i].empty()) names.emplace(from[i], to[i]);
  }
  return names;
}

}  // namespace

SubgraphNames read_names(const Graph& graph) {
  SubgraphNames names;
  for (const Value& value : graph.values()) names.values.push_back(value.name());
  for (const Node& node : graph.nodes()) {
    names.nodes.push_back(node.name());
    std::vector<std::string>& origins = names.origins.emplace_back();
    for (const uint32_t origin : node.origins()) origins.push_back(graph.module().onnx_node(origin));
  }
  return names;
}

void rename(Graph& lowered, const SubgraphNames& from, const SubgraphNames& to) {
  const NameMap values = pair_up(from.values, to.values);
  const NameMap nodes = pair_up(from.nodes, to.nodes);
  NameMap origins;
  for (size_t i = 0; i < from.origins.size(); ++i) {
    const NameMap of_node = pair_up(from.origins[i], to.origins[i]);
    origins.insert(of_node.begin(), of_node.end());
  }
  Module& module = lowered.module();
  for (Value& value : lowered.values()) value.set_name(renamed(values, value.name()));
  for (Node& node : lowered.nodes()) {
    node.set_name(renamed(nodes, node.name()));
    std::vector<uint32_t> own;
    for (const uint32_t origin : node.origins()) {
      const auto found = origins.find(module.onnx_node(origin));
      own.push_back(found == origins.end() ? origin : module.add_onnx_node(found->second));
    }
    node.set_origins(std::move(own));
  }
}

}  // namespace sluice
