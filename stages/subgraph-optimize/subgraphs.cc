#include "stages/subgraph-optimize/subgraphs.h"

#include <map>
#include <string>
#include <utility>

#include "common/base/parallel.h"
#include "common/base/work.h"
#include "common/graphfile/graphfile.h"
#include "common/ir/clone.h"
#include "common/ops/attributes.h"

namespace sluice {
namespace {

void collect_calls(Graph& graph, std::vector<Node*>& calls) {
  for (Node& node : graph.nodes()) {
    if (node.op() != Op::kCall) continue;
    Graph* callee = node.get(attributes::Call::graph);
    if (callee == nullptr) continue;
    if (callee->role == GraphRole::kPart) {
      collect_calls(*callee, calls);
    } else {
      calls.push_back(&node);
    }
  }
}

std::vector<Graph*> called_subgraphs(Graph& root) {
  if (is_subgraph_alone(root)) return {&root};
  std::vector<Node*> calls;
  collect_calls(root, calls);
  std::vector<Graph*> graphs;
  for (const Node* call : calls) graphs.push_back(called_graph(*call));
  return graphs;
}

Module extract(const Graph& graph) {
  Module module;
  ModuleMapper(graph.module(), module).clone(graph);
  module.level = Level::kPartitioned;
  module.compact();
  return module;
}

// The symbols of a subgraph's sizes. A symbol that is no dim of an input says nothing of itself in
// the digest: sizes of two Ranges differ, however equal their subgraphs are.
std::vector<std::string> symbol_names(const Module& module) {
  std::vector<std::string> names;
  for (size_t i = 0; i < module.expressions.symbol_count(); ++i)
    names.push_back(module.expressions.symbol(static_cast<SymbolId>(i)).name);
  return names;
}

}  // namespace

Result<bool> rewrite_subgraphs(Graph& root, std::string_view engine,
                               const std::function<Result<bool>(Graph& subgraph)>& rewrite) {
  bool changed = false;
  for (Graph* graph : called_subgraphs(root)) {
    if (engine_name(graph->engine) != engine) continue;
    add_work(Work::kNodeVisits, graph->node_count());
    SLUICE_ASSIGN(const bool is_changed, rewrite(*graph));
    changed = changed || is_changed;
  }
  return changed;
}

Result<Subgraphs> distinct_subgraphs(Graph& root) {
  std::vector<Node*> calls;
  collect_calls(root, calls);
  Subgraphs subgraphs;
  std::map<std::pair<Digest, std::vector<std::string>>, size_t> by_structure;
  for (Node* call : calls) {
    Module module = extract(*call->get(attributes::Call::graph));
    add_work(Work::kNodeVisits, module.root().node_count());
    SLUICE_ASSIGN(const Digest digest, structure_digest(module));
    SubgraphNames names = read_names(module.root());
    const auto [found, inserted] =
        by_structure.try_emplace({digest, symbol_names(module)}, subgraphs.distinct.size());
    if (inserted) subgraphs.distinct.push_back({std::move(module), names});
    subgraphs.placed.push_back({call, found->second, std::move(names)});
  }
  add_work(Work::kSubgraphs, calls.size());
  return subgraphs;
}

Result<GeneratorOptions> generator_options(const Options& options) {
  GeneratorOptions generator;
  SLUICE_ASSIGN(generator.profile, get_profile(options.text("profile")));
  SLUICE_TRY(check_lowerable(generator.profile));
  generator.math = *math_precision_from_name(options.text("math"));  // the table has its values
  return generator;
}

Result<void> choose_kernels(Subgraphs& subgraphs, const GeneratorOptions& options,
                            KernelRequests& kernels, int64_t threads) {
  return parallel_for(subgraphs.distinct.size(), threads, [&](size_t i) {
    return lower_for_engine(subgraphs.distinct[i].module.root(), options, kernels);
  });
}

}  // namespace sluice
