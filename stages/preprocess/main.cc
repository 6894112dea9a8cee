#include "common/stage/stage_main.h"
#include "stages/preprocess/preprocess.h"

namespace {

constexpr char kUsage[] = R"(Turns an ONNX model into a typed graph.

Usage:
  sluice-preprocess [options] [--dim=DIM]... [<in>]
  sluice-preprocess --list-passes
  sluice-preprocess (--help | --version)

Reads the model <in>, or standard input when it is absent or "-". Weights stay in the model's file.

Options:
  -o FILE               Write the graph to FILE [default: -].
  --input-shape=SHAPES  Shapes of inputs, "x:1,3,224,224;y:1,-1"; -1 leaves a dim open.
  --dim=DIM             Fix a named dim everywhere, NAME=VALUE, or bound it, NAME=LOW..HIGH. Repeatable.
  --out-nodes=NAMES     Keep these outputs only: value names or NODE:RESULT, separated by ";".
  --profile=NAME        Device profile, for sluice-partition: travels with the graph.
  --symbolic=WHEN       on or off, for sluice-partition: travels with the graph.
  --denormals=HOW       flush or ieee, for sluice-build: travels with the graph.
  --threads=N           Threads that hash constants; 0 means one per core [default: 0].
  --opt-level=LEVEL     O0, O1 or O3 [default: O3].
  --passes=LIST         Run exactly these passes, in this order.
  --skip=LIST           Leave these passes out of the default order.
  --stop-after=STEP     Run up to pass number or name STEP.
  --verify=WHEN         each, end or segments [default: end].
  --segments=WHERE      inline: copy the weights into the graph file.
  --dump-dir=DIR        Write the text of the graph after each change.
  --stats=FILE          Write a PassStats message.
  --error-format=FORM   text or json [default: text].
  --list-passes         Print the passes in their order.
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
