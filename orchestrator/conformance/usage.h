// The help text of sluice-conformance, which is also the grammar of its command line.
#pragma once

namespace sluice {

inline constexpr char kConformanceUsage[] =
    R"(Compiles, runs and checks every ONNX test case below a folder.

Usage:
  sluice-conformance [options] <folder>
  sluice-conformance (--help | --version)

A case is a folder, at any depth, that holds a model.onnx, beside it test_data_set_*/input_*.pb and
output_*.pb. Each goes through the real stage programs and the real loader, as processes, and every
compiled model through sluice-verify: the streams and places of memory of its tasks are checked.
Inputs are matched by order among the model's inputs without initializer; dimensions that the model
leaves open are fixed from the data. A case without test data passes when it compiles, verifies and
runs on random inputs.

An output is right when dtype and shape match and |a - b| <= atol + rtol * |b| for each element:
rtol 1e-3 and atol 1e-7, or those of the case's data.json ({"rtol": x, "atol": x}, one number or one
per output). NaN equals NaN, infinities go by sign, |x| < 2^-126 counts as 0. Bool, string and
integers must be equal unless data.json says otherwise. Of random operators, Bernoulli for example,
ONNX says the distribution and not the numbers: their cases fail with that reason, without an error
figure.

Verdicts: pass; fail; unsupported (a program ended with exit code 4); crash (a signal, an exit code
that Sluice does not use, exit code 6, or no end in time). Exit code: 0 when all pass, 7 when not, 3
when there is no case.

Options:
  -j N             Cases at once; 0 means one per usable core [default: 0].
  --report=FILE    Write the results to FILE as JSON: summary {pass, fail, unsupported, crash,
                   total, float, generated} and cases [{name, verdict, reason, max_error, max_ulp,
                   engines, ops, ms}], where engines and ops are by the name of the model's node.
                   float counts the cases that pass, compute something and have an input or output
                   of floats; generated those of them that run nothing on host_cpu.
  --timeout=S      Seconds that a process may take [default: 120].
  --profile=NAME   The device profile to compile for.
  --opt-level=L    O0, O1 or O3, as sluice-compile takes it.
  -q, --quiet      Print only the summary.
  --help           Print this.
  --version        Print the release.
)";

}  // namespace sluice
