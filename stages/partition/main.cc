#include "common/stage/stage_main.h"
#include "stages/partition/partition.h"
#include "stages/partition/split.h"

namespace {

constexpr char kUsage[] =
    R"(Places every node on an engine and cuts the graph into parts, and those into subgraphs of one
engine each.

Usage:
  sluice-partition [options] [<in>]
  sluice-partition --list-passes
  sluice-partition (--help | --version)

Reads <in>, or standard input when it is absent or "-": a typed graph.

Options:
  --profile=NAME       Device profile: native, cpu-avx512bf16, cpu-avx512vnni, cpu-avx512, cpu-avx2,
                       cpu-generic, sim-910b, sim-310p, or a .json file.
  --symbolic=WHEN      on, or off: every dimension that is not fixed makes its part dynamic.
  --static-model-ops-lower-limit=N   Nodes of fixed shapes become a part of their own when they are
                       at least N, 4 unless said otherwise; -1: the whole graph is one dynamic part.
  --host-scheduling-max-threshold=N  With fewer nodes of fixed shapes than N, 0 unless said
                       otherwise, and no control flow the whole graph is one dynamic part.
  --stable-order=WHEN  on: parts are runs of neighbours, so that nodes keep the model's order; or
                       off.
  --math=HOW           For sluice-subgraph-optimize: travels with the graph.
  --split=DIR          Instead of one graph write DIR/root.sg, whose Calls name their subgraphs by
                       digest, and one file for each distinct subgraph. A file that is partitioned
                       already is only split.
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
                             .write = sluice::write_partitioned,
                             .instead = sluice::split_partitioned});
}
