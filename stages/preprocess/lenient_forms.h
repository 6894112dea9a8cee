// Forms that ONNX does not allow and that types reveal, and the report of warnings.
#pragma once

#include "common/base/options.h"
#include "common/ir/module.h"

namespace sluice {

// Warns of normalisations whose scale or bias is wider than the dims that they normalise. The
// graph's types must be known.
void warn_of_lenient_forms(Module& module);

// Prints the module's warnings and clears them; with --strict they are one error (kBadModel).
Result<void> report_warnings(Module& module, const Options& options);

}  // namespace sluice
