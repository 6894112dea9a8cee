// Forms that ONNX does not allow, told by types, and what becomes of warnings.
#pragma once

#include "common/base/options.h"
#include "common/ir/module.h"

namespace sluice {

// Warns of normalisations whose scale or bias is wider than what they normalise. For graphs whose
// types are known.
void warn_of_lenient_forms(Module& module);

// Prints the module's warnings and forgets them; with --strict they are one error (kBadModel).
Result<void> tell_warnings(Module& module, const Options& options);

}  // namespace sluice
