#include "common/stage/stage_main.h"
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
  -o FILE              Write the graph to FILE [default: -].
  --denormals=HOW      flush or ieee, for sluice-build: travels with the graph.
  --threads=N          Lower N subgraphs at a time; 0 means one per core [default: 0].
  --passes=LIST        Run exactly these passes, in this order.
  --skip=LIST          Leave these passes out of the default order.
  --stop-after=STEP    Run up to pass number or name STEP.
  --verify=WHEN        each, end or segments [default: end].
  --segments=inline    Put the bytes of all constants into the file.
  --model=FILE         Take the constants from this copy of the model file.
  --dump-dir=DIR       Write the text of the graph after each change.
  --stats=FILE         Write statistics of the passes; JSON if FILE ends in .json.
  --error-format=FMT   text or json [default: text].
)";

sluice::Result<sluice::Module> run(sluice::Module module, const sluice::StageArgs& args) {
  return sluice::subgraph_optimize(std::move(module), args.options, *args.report);
}

}  // namespace

int main(int argc, char** argv) {
  return sluice::stage_main(argc, argv, kUsage,
                            {.id = sluice::StageId::kSubgraphOptimize,
                             .accepts = sluice::Level::kPartitioned,
                             .produces = sluice::Level::kLowered,
                             .run = run,
                             .passes = sluice::subgraph_optimize_passes()});
}
