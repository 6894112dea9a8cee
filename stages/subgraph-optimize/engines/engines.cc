#include "stages/subgraph-optimize/engines/engines.h"

#include <algorithm>

#include "common/ir/value_storage.h"
#include "common/target/engine_table.h"

namespace sluice {
namespace {

// Checks that engines take their nodes, since a subgraph may come from a file that partition did
// not write.
Result<void> check_nodes(const Graph& graph, const DeviceProfile& profile) {
  SLUICE_ASSIGN(const EngineTable table, make_engine_table(profile));
  const EngineRow* row = table.find(graph.engine);
  if (row == nullptr)
    return make_error(ErrorCode::kNotLowerable, "subgraph '{}': profile '{}' has no engine {}",
                      graph.name(), profile.name, engine_name(graph.engine));
  std::string nodes;
  for (const Node& node : graph.nodes()) {
    const std::string reason = engine_unsupported_reason(*row, node);
    if (!reason.empty()) nodes += fmt::format("\n  {}: {}", node.label(), reason);
  }
  if (nodes.empty()) return {};
  return make_error(ErrorCode::kNotLowerable,
                    "subgraph '{}': engine {} does not support these nodes:{}", graph.name(),
                    engine_name(graph.engine), nodes);
}

// Leaves the nodes as they are: the device itself runs them.
Result<void> lower_rts(Graph&, const GeneratorOptions&, KernelRequests&) { return {}; }

struct LoweringRow {
  std::string_view engine;
  Result<void> (*lower)(Graph& graph, const GeneratorOptions& options, KernelRequests& kernels);
};

// The engines of this release; what each supports and costs is the table in
// common/target/engine_table.cc.
constexpr LoweringRow kLowerings[] = {
    {"aicore", lower_aicore},
    {"host_cpu", lower_host_cpu},
    {"rts", lower_rts},
    {"vector", lower_vector},
};

std::string listed_engines() {
  std::string text;
  for (const LoweringRow& row : kLowerings) {
    if (!text.empty()) text += &row == std::end(kLowerings) - 1 ? " and " : ", ";
    text += row.engine;
  }
  return text;
}

}  // namespace

Result<void> lower_for_engine(Graph& graph, const GeneratorOptions& options,
                              KernelRequests& kernels) {
  const auto* row = std::ranges::find(kLowerings, engine_name(graph.engine), &LoweringRow::engine);
  if (row == std::end(kLowerings)) {
    return make_error(ErrorCode::kNotLowerable,
                      "subgraph '{}': this release cannot lower for engine {}", graph.name(),
                      engine_name(graph.engine))
        .with_hint(fmt::format("choose a --profile whose engines are {}", listed_engines()));
  }
  SLUICE_TRY(check_nodes(graph, options.profile));
  SLUICE_TRY(row->lower(graph, options, kernels));
  for (Node& node : graph.nodes()) {
    if (node.placement.kernel >= 0) node.placement.layouts = operand_layouts(node);
  }
  return {};
}

}  // namespace sluice
