// The help text of sluice-check, which is also the grammar of its command line.
#pragma once

namespace sluice {

inline constexpr char kCheckUsage[] = R"(Says what a compile of a model will be, without generating code.

Usage:
  sluice-check [options] [--input-shape=SHAPES]... [--dim=DIM]... <in>
  sluice-check (--help | --version)

Reads <in>, an ONNX model, and runs the stages up to sluice-partition on it. Prints inputs and outputs, the engines with their shares of
the multiply-adds, the nodes that fall to host_cpu, the weights and an estimate of the arena. Exits 0 when the model can be compiled with
these options, 4 when this release cannot: then it lists all unsupported nodes. Of a model with open dims, sizes with which it can be
compiled, and the command that does it; where none will do, the reason of the first. They are found by trying usual sizes, at most 128
times, and of models above 4,000 nodes as often as makes a million nodes in all, but three times in any case.

Options:
  --format=FMT           text or json [default: text].
  --input-shape=SHAPES   Shapes of model inputs, "name:1~8,3,-1,-1": bounds, a size, and -1 for what the model says; several joined
                         by ";".
  --dim=DIM              Value of a named dimension, NAME=VALUE, or its bounds, NAME=LOW..HIGH. NAME is as the model has it, blanks
                         and all; a dimension without a name is INPUT_AXIS.
  --annotate=RULES       Annotate the nodes that RULES, a JSON file, selects; docs/annotations.md.
  --out-nodes=NAMES      The outputs to keep.
  --overridable-inputs=WHEN  on: initializers that are also inputs stay inputs.
  --state=PAIRS          Keep outputs for inputs of the next execution: OUTPUT=INPUT,... docs/states.md.
  --strict               Refuse what ONNX does not allow, where that is otherwise a warning; docs/operators.md.
  --zipmap=KIND          What ZipMap gives: map, a sequence of maps, or tensor, what it takes under the same name.
  --symbolic=WHEN        on, or off: every dimension that is not fixed makes its part dynamic.
  --profile=NAME         The device profile: native, cpu-avx512vnni, cpu-avx512, cpu-avx2, cpu-generic, or a .json file.
  --opt-level=LEVEL      Which passes run: O0, O1 or O3.
  --external-dir=DIR     Also take external data of the model from files inside DIR.
  --max-constant-bytes=N  Most bytes of one constant, or of what is made on the way to it; 1 GiB unless said otherwise.
  -q, --quiet            No warnings on standard error, errors alone.
  --error-format=FORMAT  text or json.
  --help                 Print this.
  --version              Print the release.
)";

}  // namespace sluice
