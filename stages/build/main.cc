#include "common/stage/stage_main.h"
#include "stages/build/build.h"
#include "stages/build/weights/external_files.h"

namespace {

constexpr char kUsage[] = R"(Links lowered subgraphs, plans memory and writes the compiled model.

Usage:
  sluice-build [options] [--pass=POINT=FILE]... [<in>...]
  sluice-build --list-passes [--pass=POINT=FILE]...
  sluice-build (--help | --version)

Reads <in>, or standard input when it is absent or "-": a lowered graph, or a scheduled one, which
is only packaged; or root.sg of sluice-partition --split, followed by its lowered subgraph files.
With --stop-after it writes the graph: after the last pass, one of level scheduled.

Options:
  --pass=POINT=FILE    Run the passes in FILE, a program, *.py or *.so, at POINT of this stage:
                       before-build or after-assign-streams; repeatable; docs/own-passes.md.
  --weights-beside=FILE  The name that the compiled model gets later: the files of --external-weight
                        are put beside it, not beside that of -o.
)";

sluice::Result<sluice::Module> run(sluice::Module module, const sluice::StageArgs& args) {
  SLUICE_TRY(sluice::check_external_files(args));
  return sluice::schedule(std::move(module), args.options, *args.report);
}

}  // namespace

int main(int argc, char** argv) {
  return sluice::stage_main(argc, argv, kUsage,
                            {.id = sluice::StageId::kBuild,
                             .accepts = sluice::Level::kLowered,
                             .produces = sluice::Level::kScheduled,
                             .run = run,
                             .passes = sluice::build_passes(),
                             .read = sluice::read_lowered,
                             .write = sluice::write_model});
}
