// The help text of sluice-compile, which is also the grammar of its command line.
#pragma once

namespace sluice {

inline constexpr char kCompileUsage[] = R"(Compiles a model: runs the five stages, each a program of its own, connected by pipes, or by
what --transport says; the product is the same.

Usage:
  sluice-compile [options] [--input-shape=SHAPES]... [--dim=DIM]... [--passes=LIST]... [--skip=LIST]... [--service=SERVICE]... <in>
  sluice-compile (--help | --version)

Reads <in>: an ONNX model, or a graph file (.sg) written by any stage or by --dump-dir; then work goes on after the stage that wrote it.

Options:
  -o FILE                Write the compiled model to FILE; it appears only when all stages succeeded [default: -].
  --stop-after=STEP      Run up to STEP, which is STAGE or STAGE:PASS, and write the graph that is there then (after the build, the
                         compiled model); compile takes it again.
  -q, --quiet            No progress lines, no warnings; errors alone.
  --help                 Print this.
  --version              Print the release.

Meaning options: they change the product and travel in the graph files.
  --input-shape=SHAPES   Shapes of model inputs, "name:1~8,3,-1,-1": bounds, a size, and -1 for what the model says; several joined
                         by ";".
  --dim=DIM              Value of a named dimension, NAME=VALUE, or its bounds, NAME=LOW..HIGH. NAME is as the model has it, blanks
                         and all; a dimension without a name is INPUT_AXIS.
  --annotate=RULES       Annotate the nodes that RULES, a JSON file, selects; docs/annotations.md.
  --overridable-inputs=SWITCH  on: initializers that are inputs too may be given when the model runs.
  --state=PAIRS          Keep outputs for inputs of the next execution, OUTPUT=INPUT,...: 'present.*=past_key_values.*'.
  --out-nodes=NAMES      The outputs to keep.
  --zipmap=KIND          What ZipMap gives: map, a sequence of maps, or tensor, what it takes under the same name.
  --profile=NAME         The device profile: native, cpu-avx512vnni, cpu-avx512, cpu-avx2, cpu-generic.
  --opt-level=LEVEL      Which passes run: O0, O1 or O3.
  --passes=LIST          STAGE:PASS,PASS,... runs exactly these passes of that stage, in this order.
  --skip=LIST            STAGE:PASS,PASS,... leaves these passes of that stage out.
  --symbolic=SWITCH      off: any dimension that is not fixed makes a part dynamic.
  --static-model-ops-lower-limit=N   Nodes of fixed sizes become a part of their own when they are at least N,
                         4 unless said otherwise; -1: the whole model is run node by node.
  --host-scheduling-max-threshold=N  With fewer nodes of fixed sizes than N the whole model is run node by node.
  --stable-order=SWITCH  on: parts are runs of neighbours, so that nodes keep the model's order.
  --denormals=KIND       flush or ieee: what generated kernels do with |x| < 2^-126.

Manner options: they do not change the product.
  --threads=N            Worker threads of each stage; 0 means one per usable core.
  --dump-dir=DIR         Keep DIR/<n>-<stage>.sg of each stage, and in DIR/<n>-<stage>/ the text of the graph after each change.
  --stats=FILE           Write times, sizes and pass statistics of all stages to FILE, as JSON.
  --strict               Refuse what ONNX does not allow, where that is otherwise a warning; docs/operators.md.
  --verify=WHEN          When the stages verify their graphs: after each pass, at the end, or also the segments of constants.
  --segments=inline      Put the bytes of all constants into the files of --dump-dir.
  --store=DIR            Keep the bytes of constants in DIR, under their digests, so that the files of --dump-dir stay small.
  --max-constant-bytes=N  Most bytes of one constant, or of what is made on the way to it; 1 GiB unless said otherwise.
  --error-format=FORMAT  text or json.
  --transport=HOW        pipe; files: one stage after the other, over files; zmq: over services [default: pipe].
  --service=SERVICE      STAGE=ENDPOINT: a service that runs already, see --serve of the stages. The others are started here.
  --heartbeat=MS         How often a service shows that it lives; five times missed are its end [default: 1000].
  --model=FILE           The model file, when it moved; external data is looked for in its folder.
  --external-dir=DIR     Also take external data of the model from files inside DIR.
)";

}  // namespace sluice
