#include "common/stage/stage_main.h"
#include "stages/optimize/optimize.h"

namespace {

constexpr char kUsage[] = R"(Rewrites a typed graph into a faster equal one.

Usage:
  sluice-optimize [options] [<in>]
  sluice-optimize --list-passes
  sluice-optimize (--help | --version)

Reads <in>, or standard input when it is absent or "-": a typed graph.

Options:
  -o FILE              Write the graph to FILE [default: -].
  --opt-level=LEVEL    O0: change nothing; O1: clean up only; O3: everything.
  --profile=NAME       Device profile, for sluice-partition: travels with the graph.
  --symbolic=WHEN      on or off, for sluice-partition: travels with the graph.
  --denormals=HOW      flush or ieee, for sluice-build: travels with the graph.
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
  return sluice::optimize(std::move(module), args.options, *args.report);
}

}  // namespace

int main(int argc, char** argv) {
  return sluice::stage_main(argc, argv, kUsage,
                            {.id = sluice::StageId::kOptimize,
                             .accepts = sluice::Level::kTyped,
                             .produces = sluice::Level::kTyped,
                             .run = run,
                             .passes = sluice::optimize_passes()});
}
