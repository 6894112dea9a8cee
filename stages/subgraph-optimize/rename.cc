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

using OriginMap = std::map<std::string, std::vector<std::string>>;

// Equal nodes may have been made of different numbers of ONNX nodes: a Reshape alone, and one that
// a Squeeze was merged with. In that case each origin stands for all of them.
OriginMap pair_up_origins(const SubgraphNames& from, const SubgraphNames& to) {
  OriginMap names;
  for (size_t i = 0; i < from.origins.size(); ++i) {
    const std::vector<std::string>&before = from.origins[i], &after = to.origins[i];
    for (size_t k = 0; k < before.size(); ++k) {
      const bool is_paired = before.size() == after.size();
      names.emplace(before[k], is_paired ? std::vector<std::string>{after[k]} : after);
    }
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
    for (const uint32_t origin : node.origins())
      origins.push_back(graph.module().onnx_node(origin));
  }
  return names;
}

void rename(Graph& lowered, const SubgraphNames& from, const SubgraphNames& to) {
  const NameMap values = pair_up(from.values, to.values);
  const NameMap nodes = pair_up(from.nodes, to.nodes);
  const OriginMap origins = pair_up_origins(from, to);
  Module& module = lowered.module();
  for (Value& value : lowered.values()) value.set_name(renamed(values, value.name()));
  for (Node& node : lowered.nodes()) {
    node.set_name(renamed(nodes, node.name()));
    const std::vector<uint32_t> before = node.origins();
    node.set_origins({});
    for (const uint32_t origin : before) {
      const auto found = origins.find(module.onnx_node(origin));
      if (found == origins.end()) {
        node.add_origins({origin});
        continue;
      }
      for (const std::string& name : found->second) node.add_origins({module.add_onnx_node(name)});
    }
  }
}

}  // namespace sluice
