// The help text of sluice-compile, which is also the grammar of its command line.
#pragma once

#include <string>

#include "orchestrator/compile/semantic_options.h"

namespace sluice {

inline constexpr char kCompileHead[] =
    R"(Compiles a model: runs the five stages, each a program of its own, connected by pipes, or by
what --transport says; the product is the same.

Usage:
  sluice-compile [options] [--input-shape=SHAPES]... [--dim=DIM]... [--rules=FILE]...
                 [--pass=POINT=FILE]... [--passes=LIST]... [--skip=LIST]...
                 [--service=SERVICE]... <in>
  sluice-compile (--help | --version)

Reads <in>: an ONNX model, or a graph file (.sg) written by any stage or by --dump-dir; then work
goes on after the stage that wrote it.

Options:
  -o FILE                Write the compiled model to FILE; it appears only when all stages succeeded
                         [default: -].
  --stop-after=STEP      Run up to STEP, which is STAGE or STAGE:PASS, and write the graph that is
                         there then (after the build, the compiled model); compile takes it again.
  --format=FORMAT        Of the graph of --stop-after: sg; or onnx, after preprocess or optimize: a
                         model with weights that other tools run, docs/other-views.md
                         [default: sg].
  --options=FILE         Take options from FILE, JSON, where they are not given here;
                         docs/compiling.md.
  --options-ignore-unknown  Warn of options in FILE that this program does not have.
  --plan                 Print what would run, and compile nothing: a line for each stage with its
                         options, with a store also its key and whether its product is found, and
                         the kernels that are missing; with --progress=json, as JSON.
  -q, --quiet            No progress lines, no warnings; errors alone.
  --help                 Print this.
  --version              Print the release.

Semantic options: they change the product and travel in the graph files.
)";

inline constexpr char kCompileNonSemantic[] = R"(
Non-semantic options: they do not change the product.
  --threads=N            Worker threads of each stage; 0 means one per usable core.
  --dump-dir=DIR         Keep DIR/<n>-<stage>.sg of each stage, and in DIR/<n>-<stage>/ the text of
                         the graph after each change.
  --stats=FILE           Write times, sizes and pass statistics of all stages to FILE, as JSON.
  --export-compile-stat=FILE  Write how often each pass and rule found what it replaces, and how
                         often it did, to FILE, as JSON (fusion_result.json of other tools); 1 or
                         2: to fusion_result.json beside the output; 0: nothing.
  --strict               Refuse what ONNX does not allow, where that is otherwise a warning;
                         docs/operators.md.
  --verify=WHEN          When the stages verify their graphs: after each pass, at the end, or also
                         the segments of constants.
  --segments=inline      Put the bytes of all constants into the files of --dump-dir.
  --store=DIR            Keep the products of the stages in DIR, and take from there what it has
                         already; with --dump-dir also the bytes of constants, so that those files
                         stay small. docs/cache.md.
  --remote=URL           With a store: a second one behind it, over http:// or https://, for whoever
                         has no file system in common. What is missing in DIR is taken from there,
                         and what was made here is sent there at the end; docs/farm.md.
  --farm=ENDPOINT        Have a farm, sluice farm, generate the kernels; the other work is done
                         here, and weights do not leave this machine. docs/farm.md.
  --graph-compiler-cache-dir=DIR  With --graph-key: keep the compiled model in the folder DIR, a
                         store, under a name; docs/cache.md.
  --graph-key=KEY        That name: up to 128 letters, digits, "_" and "-". A model is taken from
                         there only when it is this one.
  --max-constant-bytes=N  Most bytes of one constant, or of what is made on the way to it; 1 GiB
                         unless said otherwise.
  --pass-seconds=N       Most seconds that one pass of --pass takes; 600 unless said otherwise.
  --pass-memory=N        Most bytes of memory of the process that runs them, and of a graph that one
                         makes; 4 GiB unless said otherwise.
  --error-format=FORMAT  text or json.
  --progress=FORMAT      How the end of each stage is reported on standard error: text, or json, an
                         object in a line [default: text].
  --transport=HOW        pipe; files: one stage after the other, over files; zmq: over services
                         [default: pipe].
  --service=SERVICE      STAGE=ENDPOINT: a service that runs already, see --serve of the stages. The
                         others are started here.
  --key=FILE             For services that have keys: our own secret key, NAME.key of sluice farm
                         keygen.
  --peer-key=FILE        The public key of these services, NAME.pub.
  --sandbox              Run each stage in a sandbox: no network, no other process, no file but its
                         inputs; docs/security.md. A limit asks for it, too.
  --sandbox-memory=N     Most bytes of memory of a stage; those of the machine unless said
                         otherwise.
  --sandbox-seconds=N    Most seconds of processor time of a stage, of all its threads; 3600 unless
                         said otherwise. After five times as many it is ended, too.
  --sandbox-file-bytes=N  Most bytes of a file that a stage writes; 16 GiB unless said otherwise.
  --weights-beside=FILE  The name that the compiled model gets later: the files of --external-weight
                         are put beside it, not beside that of -o.
  --model=FILE           The model file, when it moved; external data is looked for in its folder.
  --external-dir=DIR     Also take external data of the model from files inside DIR.
)";

inline std::string compile_usage() {
  return std::string(kCompileHead) + kSemanticOptions + kCompileNonSemantic;
}

}  // namespace sluice
