// Lowers every subgraph for its engine.
//
//   before:  %y = Call(%x, %w) {graph = @p0}    @p0: Fused, Conv, … of engine aicore
//   after:   the same Call                      @p0: nodes that name kernels, storages on values,
//                                               packed weights as constant expressions
//
// Legal because lowering preserves what each subgraph computes; a subgraph depends on nothing
// outside itself, so each is lowered in a module of its own, equal ones (by structure digest and
// symbols) once, all in parallel. Results are put back in the order of the Calls, so they do not
// depend on the number of threads.
#include <set>
#include <string>
#include <utility>

#include "common/base/parallel.h"
#include "common/base/work.h"
#include "common/ir/clone.h"
#include "common/ops/attributes.h"
#include "stages/subgraph-optimize/engines/missing_kernels.h"
#include "stages/subgraph-optimize/passes/passes.h"
#include "stages/subgraph-optimize/subgraphs.h"

namespace sluice {
namespace {

Result<void> finish(Module& module) {
  SLUICE_TRY(module.root().restore_order());
  module.erase_unowned();
  module.compact();
  module.level = Level::kLowered;
  return {};
}

// Lets kernels of a lowered graph be generated that the compiled model need not have.
void allow_missing(const Graph& graph, const ModelKernels& model, KernelRequests& kernels) {
  for (const Node& node : graph.nodes())
    if (model.need_not_have_kernel_of(node)) kernels.allow_missing(node);
}

// Lowers the subgraphs in threads. Returns the entries of the kernels that have no code
// (KernelRequests::missing).
Result<std::set<std::string>> lower_all(Subgraphs& subgraphs, const GeneratorOptions& options,
                                        const KernelSources& sources, int64_t threads) {
  KernelRequests kernels;
  SLUICE_TRY(choose_kernels(subgraphs, options, kernels, threads));
  std::deque<DistinctSubgraph>& distinct = subgraphs.distinct;
  for (const DistinctSubgraph& each : distinct)
    allow_missing(each.module.root(), sources.model, kernels);
  SLUICE_TRY(kernels.generate_all(options.profile, sources, threads));
  SLUICE_TRY(
      parallel_for(distinct.size(), threads, [&](size_t i) { return finish(distinct[i].module); }));
  add_work(Work::kDistinctSubgraphs, distinct.size());
  return kernels.missing();
}

// Lowers a subgraph in a file of its own.
Result<void> lower_alone(Graph& graph, const GeneratorOptions& options,
                         const KernelSources& sources, int64_t threads) {
  KernelRequests kernels;
  SLUICE_TRY(lower_for_engine(graph, options, kernels));
  allow_missing(graph, sources.model, kernels);
  SLUICE_TRY(kernels.generate_all(options.profile, sources, threads));
  add_work(Work::kDistinctSubgraphs);
  return check_missing(graph.module(), kernels.missing(), sources.model);
}

Result<KernelSources> kernel_sources(const Options& options) {
  SLUICE_ASSIGN(ModelKernels model, ModelKernels::open(options.text("kernels-from")));
  SLUICE_ASSIGN(KernelStore store,
                KernelStore::open(options.text("store"), options.text("new-kernels"),
                                  KernelStore::Faults::kWarned));
  return KernelSources{std::move(model), std::move(store)};
}

}  // namespace

Result<bool> lower_subgraphs(Graph& graph, const Options& options) {
  SLUICE_ASSIGN(const GeneratorOptions generator, generator_options(options));
  SLUICE_ASSIGN(const int64_t threads, options.threads());
  SLUICE_ASSIGN(const KernelSources sources, kernel_sources(options));
  if (is_subgraph_alone(graph)) {
    SLUICE_TRY(lower_alone(graph, generator, sources, threads));
    return true;
  }
  SLUICE_ASSIGN(Subgraphs subgraphs, distinct_subgraphs(graph));
  SLUICE_ASSIGN(const std::set<std::string> missing,
                lower_all(subgraphs, generator, sources, threads));
  for (const PlacedSubgraph& place : subgraphs.placed) {
    DistinctSubgraph& distinct = subgraphs.distinct[place.distinct];
    const std::string name = place.call->get(attributes::Call::graph)->name();
    Graph& lowered = ModuleMapper(distinct.module, graph.module()).clone(distinct.module.root());
    rename(lowered, distinct.names, place.names);
    lowered.set_name(name);
    place.call->set(attributes::Call::graph, GraphRef{lowered.id()});
  }
  SLUICE_TRY(check_missing(graph.module(), missing, sources.model));
  return !subgraphs.placed.empty();
}

}  // namespace sluice
