#include "common/stage/stage_main.h"
#include "stages/preprocess/preprocess.h"

namespace {

constexpr char kUsage[] = R"(Turns an ONNX model into a typed graph.

Usage:
  sluice-preprocess [options] [--dim=DIM]... [--rules=FILE]... [--pass=POINT=FILE]... [<in>]
  sluice-preprocess --list-passes [--rules=FILE]... [--pass=POINT=FILE]...
  sluice-preprocess (--help | --version)

Reads the model <in>, or standard input when it is absent or "-". Weights stay in the model's file.
A graph that --stop-after wrote goes on after that pass.

Options:
  --input-shape=SHAPES  Shapes of inputs, "x:1~8,3,-1,-1;y:1,-1": bounds, a size, and -1 for what
                        the model says. A size replaces another that the model fixes, with a
                        warning.
  --dim=DIM             Fix a named dim everywhere, NAME=VALUE, or bound it, NAME=LOW..HIGH. NAME is
                        as the model has it, blanks and all; without one INPUT_AXIS. Repeatable.
  --rules=FILE          Apply the rules of FILE for this stage; repeatable; docs/own-passes.md.
  --unchecked-rules     Use rules without a check of what they compute.
  --pass=POINT=FILE     Run the passes in FILE at before-infer-shape or after-infer-shape; the same.
  --annotate=RULES      Annotate the nodes that RULES, a JSON file, selects; docs/annotations.md.
  --external-dir=DIR    Also take external data of the model from files inside DIR, by absolute
                        paths, "../" or links.
  --overridable-inputs=WHEN  on: initializers that are inputs too may be given when the model runs;
                        off: they are constants, the default.
  --state=PAIRS         Keep outputs for inputs of the next execution: OUTPUT=INPUT,... where *
                        stands for the same text on both sides: 'present.*=past_key_values.*'.
                        docs/states.md.
  --zipmap=KIND         What ZipMap gives: map, a sequence, or tensor, what it takes [default: map].
  --out-nodes=NAMES     Keep these outputs only: value names or NODE:RESULT, separated by ";".
  --strict              Refuse what is otherwise a warning, as ONNX does; docs/operators.md.
  --propose-sizes=FILE  Write sizes of open dims with which the model can be compiled to FILE, as
                        JSON. At most 128 are tried, of large models a million nodes, but 3 always.
  --profile=NAME        Device profile, for sluice-partition: travels with the graph.
  --symbolic=WHEN       on or off, for sluice-partition: travels with the graph.
  --static-model-ops-lower-limit=N   For sluice-partition: travels with the graph.
  --host-scheduling-max-threshold=N  The same.
  --stable-order=WHEN   on or off, the same.
  --math=HOW            For sluice-subgraph-optimize: travels with the graph.
  --precision-mode=MODE   For sluice-optimize: travels with the graph.
  --modify-mixlist=FILE   The same; its content travels.
  --customize-dtypes=FILE  The same.
  --opt-level=LEVEL     O0, O1 or O3 [default: O3].
)";

}  // namespace

int main(int argc, char** argv) {
  return sluice::stage_main(argc, argv, kUsage,
                            {.id = sluice::StageId::kPreprocess,
                             .accepts = sluice::Level::kTyped,
                             .produces = sluice::Level::kTyped,
                             .run = sluice::preprocess,
                             .passes = sluice::preprocess_passes(),
                             .read = sluice::read_model});
}
