#include "common/text/names.h"

namespace sluice::text {

std::string UniqueNames::add(const std::string& name) {
  const auto [found, inserted] = used_.try_emplace(name, 1);
  if (inserted) return name;
  while (true) {
    std::string candidate = fmt::format("{}~{}", name, found->second++);
    if (used_.try_emplace(candidate, 1).second) return candidate;
  }
}

bool is_shown_constant(const Value& value) {
  return !value.is_erased() && value.is_constant() && !value.is_input() &&
         value.producer() == nullptr && value.is_used();
}

namespace {

std::vector<std::string> unique_value_names(const Graph& graph, bool with_constants) {
  std::vector<std::string> names(graph.value_limit());
  UniqueNames unique;
  size_t nameless = 0;
  const auto add = [&](const Value& value) {
    names[static_cast<size_t>(value.id())] = value.name().empty()
                                                 ? spelled_number('%', nameless++)
                                                 : spelled('%', unique.add(value.name()));
  };
  for (const Value* input : graph.inputs()) add(*input);
  for (const Value& value : graph.values()) {
    if (!is_shown_constant(value)) continue;
    if (with_constants) add(value);
    if (!with_constants) names[static_cast<size_t>(value.id())] = "constant";
  }
  for (const Node& node : graph.nodes()) {
    for (size_t i = 0; i < node.output_count(); ++i) add(node.output(i));
  }
  return names;
}

}  // namespace

std::vector<std::string> value_names(const Graph& graph) { return unique_value_names(graph, true); }

std::vector<std::string> value_names_without_constants(const Graph& graph) {
  return unique_value_names(graph, false);
}

std::vector<std::string> graph_names(const Module& module) {
  std::vector<std::string> names(static_cast<size_t>(module.graph_limit()));
  UniqueNames unique;
  size_t nameless = 0;
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (!module.has_graph(id)) continue;
    const std::string& name = module.graph(id).name();
    names[static_cast<size_t>(id)] =
        name.empty() ? spelled_number('@', nameless++) : spelled('@', unique.add(name));
  }
  return names;
}

}  // namespace sluice::text
