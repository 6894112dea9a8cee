// The help text of sluice-bisect, which is also the grammar of its command line.
#pragma once

#include <string>

#include "orchestrator/compile/semantic_options.h"

namespace sluice {

inline constexpr char kBisectHead[] =
    R"(Finds the first pass of a compile whose graph gives other values than the graph before it.

Usage:
  sluice-bisect [options] [--input-shape=SHAPES]... [--dim=DIM]... [--rules=FILE]...
                [--pass=POINT=FILE]... [--passes=LIST]... [--skip=LIST]... [--input=BINDING]...
                [--eval-dim=SIZE]... <in>
  sluice-bisect (--help | --version)

Reads <in>, an ONNX model, or a graph file (.sg), after which the search begins. Runs the stages one
after the other, evaluates their graphs with sluice-eval, and searches the passes of the first stage
whose outputs differ. Prints the stage, the pass, the largest difference and the first node whose
value differs. Exits 7 when there is such a pass, or one whose graph cannot be evaluated, and 0
when there is none. docs/bisect.md.

Options:
  --input=BINDING        NAME=FILE binds the input NAME to a .npy, .npz or .pb file; FILE.npz binds
                         each member.
  --random=SEED          Fill the other inputs by SEED, as sluice-eval does [default: 0].
  --eval-dim=SIZE        NAME=SIZE, for random inputs: the size of a dimension that stays open; 1
                         unless said otherwise.
  --tolerance=R          Outputs differ when they are further apart than R times the largest number
                         after the pass [default: 1e-4].
  --keep=DIR             Write the graphs before and after the pass to DIR.
  --json                 Print the result as JSON.
  -q, --quiet            No progress lines; errors alone.
  --error-format=FORMAT  text or json.
  --help                 Print this.
  --version              Print the release.

Semantic options: those of sluice-compile, which the stages are given.
)";

inline constexpr char kBisectNonSemantic[] = R"(
Non-semantic options: they do not change the graphs.
  --threads=N            Worker threads of each stage; 0 means one per usable core.
  --strict               Refuse what ONNX does not allow, where that is otherwise a warning;
                         docs/operators.md.
  --verify=WHEN          When the stages verify their graphs: after each pass, at the end, or also
                         the segments of constants.
  --store=DIR            The folder of constants that <in> was written with; the graphs then need
                         it, too.
  --pass-seconds=N       Most seconds that one pass of --pass takes; 600 unless said otherwise.
  --pass-memory=N        Most bytes of memory of the process that runs them, and of a graph that one
                         makes; 4 GiB unless said otherwise.
  --model=FILE           The model file of a graph, when it moved; external data is looked for in
                         its folder.
  --external-dir=DIR     Also take external data of the model from files inside DIR.
  --max-constant-bytes=N  Most bytes of one constant, or of what is made on the way to it; 1 GiB
                         unless said otherwise.
)";

inline std::string bisect_usage() {
  return std::string(kBisectHead) + kSemanticOptions + kBisectNonSemantic;
}

}  // namespace sluice
