#include "common/stage/stage_main.h"
#include "stages/build/build.h"

namespace {

constexpr char kUsage[] = R"(Links lowered subgraphs, plans memory and writes the compiled model.

Usage:
  sluice-build [options] [<in>...]
  sluice-build --list-passes
  sluice-build (--help | --version)

Reads <in>, or standard input when it is absent or "-": a lowered graph; or root.sg of
sluice-partition --split, followed by its lowered subgraph files.

Options:
  -o FILE              Write the compiled model to FILE [default: -].
  --denormals=HOW      flush or ieee: what generated kernels do with |x| < 2^-126.
  --threads=N          Evaluate N constants at a time; 0 means one per core [default: 0].
  --passes=LIST        Run exactly these passes, in this order.
  --skip=LIST          Leave these passes out of the default order.
  --stop-after=STEP    Run up to pass number or name STEP.
  --verify=WHEN        each, end or segments [default: end].
  --segments=inline    Accepted by every stage; a compiled model is always self-contained.
  --model=FILE         Take the constants from this copy of the model file.
  --dump-dir=DIR       Write the text of the graph after each change.
  --stats=FILE         Write statistics of the passes; JSON if FILE ends in .json.
  --error-format=FMT   text or json [default: text].
)";

sluice::Result<sluice::Module> run(sluice::Module module, const sluice::StageArgs& args) {
  return sluice::link(std::move(module), args.options, *args.report);
}

}  // namespace

int main(int argc, char** argv) {
  return sluice::stage_main(argc, argv, kUsage,
                            {.id = sluice::StageId::kBuild,
                             .accepts = sluice::Level::kLowered,
                             .produces = sluice::Level::kLowered,
                             .run = run,
                             .passes = sluice::build_passes(),
                             .read = sluice::read_lowered,
                             .write = sluice::write_model});
}
