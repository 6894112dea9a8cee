#include "common/stage/stage_main.h"
#include "stages/subgraph-optimize/compile_kernel.h"
#include "stages/subgraph-optimize/listed_kernels.h"
#include "stages/subgraph-optimize/subgraph_optimize.h"

namespace {

constexpr char kUsage[] = R"(Lowers every subgraph of a partitioned graph for its engine.

Usage:
  sluice-subgraph-optimize [options] [<in>]
  sluice-subgraph-optimize --list-passes
  sluice-subgraph-optimize (--help | --version)

Reads <in>, or standard input when it is absent or "-": a partitioned graph, or one subgraph
written by sluice-partition --split.

Options:
  --math=HOW            How exact generated functions (exp, tanh, ...) are: default, 4 units in the
                        last place; high_precision, 1; high_performance, 1e-6. docs/kernels.md.
  --kernels-from=FILE   Take kernels from FILE, a compiled model of this release, and generate none:
                        one that is missing is an error, which lists the nodes that need one. Only
                        those are generated that a compiled model need not have: of a Concat, Split
                        or copy, and of a node that FILE runs on host_cpu. docs/refit.md.
  --new-kernels=FILE    Append kernels to FILE and only read those of --store: for a store that this
                        program must not write, such as in a sandbox; docs/security.md.
  --kernel=SPEC         Compile one kernel alone to an ELF object: SPEC is a file with what
                        sluice-show --loops prints of a node.
  --kernels=LIST        Generate kernels for --store alone, of the graphs in LIST, a file or "-". A
                        line "KEY... FILE" has the keys of kernels and the graph file that needs
                        them. For lines of a file alone the kernels missing in the store are listed
                        in the same form, and are jobs of sluice job from then on. docs/farm.md.
)";

sluice::Result<sluice::Module> run(sluice::Module module, const sluice::StageArgs& args) {
  return sluice::subgraph_optimize(std::move(module), args.options, *args.report);
}

sluice::Result<bool> run_instead(const sluice::StageArgs& args) {
  SLUICE_ASSIGN(const bool is_done, sluice::make_listed_kernels(args));
  return is_done ? is_done : sluice::compile_kernel(args);
}

}  // namespace

int main(int argc, char** argv) {
  return sluice::stage_main(argc, argv, kUsage,
                            {.id = sluice::StageId::kSubgraphOptimize,
                             .accepts = sluice::Level::kPartitioned,
                             .produces = sluice::Level::kLowered,
                             .run = run,
                             .passes = sluice::subgraph_optimize_passes(),
                             .instead = run_instead});
}
