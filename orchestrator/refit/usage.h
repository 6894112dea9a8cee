// The help text of sluice-refit, which is also the grammar of its command line.
#pragma once

namespace sluice {

inline constexpr char kRefitUsage[] =
    R"(Makes a compiled model for other values of a model's constants, without generating code.

Usage:
  sluice-refit [options] --weights=MODEL <base>
  sluice-refit (--help | --version)

Reads <base>, a compiled model (.om) of this release, and takes its options and kernels. The product
has the bytes that sluice-compile with those options would make of MODEL. A MODEL that differs in
anything but values of constants is refused, and so is one where such a value is part of generated
code; the first difference is named. docs/refit.md.

Options:
  --weights=MODEL        The ONNX model with the new constants.
  -o FILE                Write the compiled model to FILE; it appears only when it is whole
                         [default: -].
  --annotate=RULES       The file of rules that <base> was compiled with, which is not in it.
  --external-dir=DIR     Also take external data of the model from files inside DIR.
  --max-constant-bytes=N  Most bytes of one constant, or of what is made on the way to it; 1 GiB
                         unless said otherwise.
  --threads=N            Worker threads of each stage; 0 means one per usable core.
  -q, --quiet            No warnings, and no line at the end; errors alone.
  --error-format=FORMAT  text or json.
  --help                 Print this.
  --version              Print the release.
)";

}  // namespace sluice
