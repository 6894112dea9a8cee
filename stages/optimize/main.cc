#include "common/stage/stage_main.h"
#include "stages/optimize/optimize.h"

namespace {

constexpr char kUsage[] = R"(Rewrites a typed graph into a faster equal one.

Usage:
  sluice-optimize [options] [--rules=FILE]... [--pass=POINT=FILE]... [<in>]
  sluice-optimize --list-passes [--rules=FILE]... [--pass=POINT=FILE]...
  sluice-optimize (--help | --version)

Reads <in>, or standard input when it is absent or "-": a typed graph.

Options:
  --opt-level=LEVEL    O0: change nothing; O1: clean up only; O3: everything.
  --rules=FILE         Rewrite the graph by the rules in FILE whose place is in this stage, at a row
                       of their own; repeatable; docs/own-passes.md.
  --unchecked-rules    Use rules without a check of what they compute.
  --pass=POINT=FILE    Run the passes in FILE, a program, *.py or *.so, at POINT of this stage:
                       after-builtin-fusion or after-optimize; repeatable; docs/own-passes.md.
  --precision-mode=MODE  must_keep_origin_dtype, the default: nodes compute in the dtypes of the
                       model; force_fp32, force_fp16, force_bf16: all in that one, where they can;
                       allow_mix_precision, allow_mix_precision_bf16: those that bear it in 16 bits;
                       docs/precision.md.
  --modify-mixlist=FILE  Changes to the lists of operators of allow_mix_precision, as JSON.
  --customize-dtypes=FILE  Dtypes of single nodes: lines of a node and keep, f32, f16 or bf16.
  --profile=NAME       Device profile, for sluice-partition: travels with the graph.
  --symbolic=WHEN      on or off, for sluice-partition: travels with the graph.
  --static-model-ops-lower-limit=N   For sluice-partition: travels with the graph.
  --host-scheduling-max-threshold=N  The same.
  --stable-order=WHEN  on or off, the same.
  --math=HOW           For sluice-subgraph-optimize: travels with the graph.
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
