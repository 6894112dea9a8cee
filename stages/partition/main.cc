#include "common/stage/stage_main.h"
#include "stages/partition/partition.h"
#include "stages/partition/split.h"

namespace {

constexpr char kUsage[] = R"(Places every node on an engine and cuts the graph into subgraphs of one engine each.

Usage:
  sluice-partition [options] [<in>]
  sluice-partition --list-passes
  sluice-partition (--help | --version)

Reads <in>, or standard input when it is absent or "-": a typed graph.

Options:
  -o FILE              Write the graph to FILE [default: -].
  --profile=NAME       Device profile: native, cpu-avx512, cpu-avx2, cpu-generic, or a .json file.
  --symbolic=WHEN      on, or off: every dimension that is not fixed makes its part dynamic.
  --denormals=HOW      flush or ieee, for sluice-build: travels with the graph.
  --split=DIR          Instead of one graph write DIR/root.sg, whose Calls name their subgraphs by
                       digest, and one file for each distinct subgraph.
  --passes=LIST        Run exactly these passes, in this order.
  --skip=LIST          Leave these passes out of the default order.
  --stop-after=STEP    Run up to pass number or name STEP.
  --verify=WHEN        each, end or segments [default: end].
  --threads=N          Accepted by every stage; this one needs no threads [default: 0].
  --segments=inline    Put the bytes of all constants into the file.
  --model=FILE         Take the constants from this copy of the model file.
  --dump-dir=DIR       Write the text of the graph after each change.
  --stats=FILE         Write statistics of the passes; JSON if FILE ends in .json.
  --error-format=FMT   text or json [default: text].
)";

sluice::Result<sluice::Module> run(sluice::Module module, const sluice::StageArgs& args) {
  return sluice::partition(std::move(module), args.options, *args.report);
}

}  // namespace

int main(int argc, char** argv) {
  return sluice::stage_main(argc, argv, kUsage,
                            {.id = sluice::StageId::kPartition,
                             .accepts = sluice::Level::kTyped,
                             .produces = sluice::Level::kPartitioned,
                             .run = run,
                             .passes = sluice::partition_passes(),
                             .write = sluice::write_partitioned});
}
