#include <map>

#include "common/graphfile/graphfile.h"
#include "common/ir/clone.h"
#include "common/ops/attributes.h"
#include "common/verify/verify.h"
#include "stages/build/build.h"

namespace sluice {
namespace {

// Puts the lowered subgraphs into the Calls. sluice-partition --split names each subgraph's graph
// by its digest, and Calls name theirs by the same digest.
Result<void> attach(Graph& graph, const std::map<std::string, Module>& subgraphs) {
  for (Node& node : graph.nodes()) {
    if (node.op() != Op::kCall) continue;
    if (Graph* part = node.get(attributes::Call::graph); part != nullptr) {
      SLUICE_TRY(attach(*part, subgraphs));
      continue;
    }
    const std::string digest = node.get(attributes::Call::subgraph);
    const auto found = subgraphs.find(digest);
    if (found == subgraphs.end()) {
      return make_error(ErrorCode::kLinkFailed,
                        "{}: no file given was lowered from its subgraph {}", node.label(),
                        digest.substr(0, 16))
          .with_hint(
              fmt::format("lower {}.sg and give the result behind root.sg", digest.substr(0, 16)));
    }
    Graph& lowered = ModuleMapper(found->second, graph.module()).clone(found->second.root());
    lowered.role = GraphRole::kSubgraph;
    node.remove(attributes::Call::subgraph);
    node.set(attributes::Call::graph, GraphRef{lowered.id()});
  }
  return {};
}

Result<Module> read_at_level(const std::string& path, Level level) {
  SLUICE_ASSIGN(Module module, read_graph_file(path));
  module.source = path;
  const bool is_scheduled = level == Level::kLowered && module.level == Level::kScheduled;
  if (module.level != level && !is_scheduled) {
    Error error = make_error(ErrorCode::kWrongLevel, "needs level '{}', got '{}'",
                             level_name(level), level_name(module.level))
                      .with_hint(module.level == Level::kTyped
                                     ? "run sluice-partition, sluice-subgraph-optimize first"
                                     : "run sluice-subgraph-optimize first");
    error.file = path;
    return error;
  }
  SLUICE_TRY(verify(module, module.level));
  return module;
}

}  // namespace

Result<Module> read_lowered(const StageArgs& args) {
  if (args.more_inputs.empty()) return read_at_level(args.input, Level::kLowered);
  SLUICE_ASSIGN(Module root, read_at_level(args.input, Level::kPartitioned));
  std::map<std::string, Module> subgraphs;
  for (const std::string& path : args.more_inputs) {
    SLUICE_ASSIGN(Module subgraph, read_at_level(path, Level::kLowered));
    subgraphs.emplace(subgraph.root().name(), std::move(subgraph));
  }
  SLUICE_TRY(attach(root.root(), subgraphs));
  root.level = Level::kLowered;
  return root;
}

}  // namespace sluice
