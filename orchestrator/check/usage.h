// The help text of sluice-check, which is also the grammar of its command line.
#pragma once

#include <string>

#include "orchestrator/compile/semantic_options.h"

namespace sluice {

inline constexpr char kCheckHead[] =
    R"(Says what a compile of a model will be, without generating code.

Usage:
  sluice-check [options] [--input-shape=SHAPES]... [--dim=DIM]... [--passes=LIST]...
               [--skip=LIST]... [--rules=FILE]... [--pass=POINT=FILE]... <in>
  sluice-check (--help | --version)

Reads <in>, an ONNX model, and runs the stages up to sluice-partition on it. Prints inputs and
outputs, the engines with their shares of the multiply-adds, the nodes that fall to host_cpu, the
weights and an estimate of the arena. Exits 0 when the model can be compiled with these options, 4
when this release cannot: then it lists all unsupported nodes.

Dims that the model leaves open, such as a batch, are printed by name: "x: f32[batch, 3, 224, 224]".
A compile needs no size for them, and the compiled model runs at every size within the bounds that
are printed. Figures of work and memory are for the sizes that are printed beside them, or those of
--dim. Also printed is a command that fixes all open dims; where no sizes will do, the reason of the
first. They are found by trying usual sizes, at most 128 times, and of models above 4,000 nodes as
often as makes a million nodes in all, but three times in any case.

Options:
  --format=FMT           text or json [default: text].
  --strict               Refuse what ONNX does not allow, where that is otherwise a warning;
                         docs/operators.md.
  --external-dir=DIR     Also take external data of the model from files inside DIR.
  --max-constant-bytes=N  Most bytes of one constant, or of what is made on the way to it; 1 GiB
                         unless said otherwise.
  --pass-seconds=N       Most seconds that one pass of --pass takes; 600 unless said otherwise.
  --pass-memory=N        Most bytes of memory of the process that runs them, and of a graph that one
                         makes; 4 GiB unless said otherwise.
  -q, --quiet            No warnings on standard error, errors alone.
  --error-format=FORMAT  text or json.
  --help                 Print this.
  --version              Print the release.

Semantic options: those of sluice-compile, which a compile of the model will be given.
)";

inline std::string check_usage() { return std::string(kCheckHead) + kSemanticOptions; }

}  // namespace sluice
