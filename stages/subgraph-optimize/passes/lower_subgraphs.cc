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
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/parallel.h"
#include "common/base/work.h"
#include "common/graphfile/graphfile.h"
#include "common/ir/clone.h"
#include "common/ops/attributes.h"
#include "stages/subgraph-optimize/engines/engines.h"
#include "stages/subgraph-optimize/engines/lacking_kernels.h"
#include "stages/subgraph-optimize/passes/passes.h"
#include "stages/subgraph-optimize/rename.h"

namespace sluice {
namespace {

// One distinct subgraph. `names` are the names that its first owner uses.
struct Job {
  Module module;
  SubgraphNames names;
};

struct Placed {
  Node* call;
  size_t job;
  SubgraphNames names;
};

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

Result<void> finish(Module& module) {
  SLUICE_TRY(module.root().restore_order());
  module.erase_unowned();
  module.compact();
  module.level = Level::kLowered;
  return {};
}

// Lets kernels of a lowered graph be generated that the compiled model need not have.
void let_lack(const Graph& graph, const ModelKernels& model, KernelRequests& kernels) {
  for (const Node& node : graph.nodes())
    if (model.may_lack_kernel_of(node)) kernels.may_lack(node);
}

// Runs the jobs in threads; each job writes only its own module. Returns the entries of the kernels
// that have no code (KernelRequests::lacking).
Result<std::set<std::string>> lower_all(std::deque<Job>& jobs, const GeneratorOptions& options,
                                        const KernelSources& sources, int64_t threads) {
  KernelRequests kernels;
  SLUICE_TRY(parallel_for(jobs.size(), threads, [&](size_t i) {
    return lower_for_engine(jobs[i].module.root(), options, kernels);
  }));
  for (const Job& job : jobs) let_lack(job.module.root(), sources.model, kernels);
  SLUICE_TRY(kernels.generate_all(options.profile, sources, threads));
  SLUICE_TRY(parallel_for(jobs.size(), threads, [&](size_t i) { return finish(jobs[i].module); }));
  add_work(Work::kDistinctSubgraphs, jobs.size());
  return kernels.lacking();
}

// Lowers a subgraph in a file of its own.
Result<void> lower_alone(Graph& graph, const GeneratorOptions& options,
                         const KernelSources& sources, int64_t threads) {
  KernelRequests kernels;
  SLUICE_TRY(lower_for_engine(graph, options, kernels));
  let_lack(graph, sources.model, kernels);
  SLUICE_TRY(kernels.generate_all(options.profile, sources, threads));
  add_work(Work::kDistinctSubgraphs);
  return check_lacking(graph.module(), kernels.lacking(), sources.model);
}

Result<KernelSources> kernel_sources(const Options& options) {
  SLUICE_ASSIGN(ModelKernels model, ModelKernels::open(options.text("kernels-from")));
  SLUICE_ASSIGN(KernelStore store,
                KernelStore::open(options.text("store"), options.text("new-kernels")));
  return KernelSources{std::move(model), std::move(store)};
}

Result<GeneratorOptions> generator_options(const Options& options) {
  GeneratorOptions generator;
  SLUICE_ASSIGN(generator.profile, get_profile(options.text("profile")));
  SLUICE_TRY(check_lowerable(generator.profile));
  generator.math = *math_precision_from_name(options.text("math"));  // the table has its values
  return generator;
}

}  // namespace

Result<bool> lower_subgraphs(Graph& graph, const Options& options) {
  SLUICE_ASSIGN(const GeneratorOptions generator, generator_options(options));
  SLUICE_ASSIGN(const int64_t threads, options.threads());
  SLUICE_ASSIGN(const KernelSources sources, kernel_sources(options));
  if (graph.engine != EngineId::kNone) {  // a subgraph in a file of its own
    SLUICE_TRY(lower_alone(graph, generator, sources, threads));
    return true;
  }
  std::vector<Node*> calls;
  collect_calls(graph, calls);
  std::deque<Job> jobs;
  std::map<std::pair<Digest, std::vector<std::string>>, size_t> by_structure;
  std::vector<Placed> placed;
  for (Node* call : calls) {
    Module module = extract(*call->get(attributes::Call::graph));
    add_work(Work::kNodeVisits, module.root().node_count());
    SLUICE_ASSIGN(const Digest digest, structure_digest(module));
    SubgraphNames names = read_names(module.root());
    const auto [found, inserted] =
        by_structure.try_emplace({digest, symbol_names(module)}, jobs.size());
    if (inserted) jobs.push_back({std::move(module), names});
    placed.push_back({call, found->second, std::move(names)});
  }
  add_work(Work::kSubgraphs, calls.size());
  SLUICE_ASSIGN(const std::set<std::string> lacking, lower_all(jobs, generator, sources, threads));
  for (const Placed& place : placed) {
    Job& job = jobs[place.job];
    const std::string name = place.call->get(attributes::Call::graph)->name();
    Graph& lowered = ModuleMapper(job.module, graph.module()).clone(job.module.root());
    rename(lowered, job.names, place.names);
    lowered.set_name(name);
    place.call->set(attributes::Call::graph, GraphRef{lowered.id()});
  }
  SLUICE_TRY(check_lacking(graph.module(), lacking, sources.model));
  return !placed.empty();
}

}  // namespace sluice
