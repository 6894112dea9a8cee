// Compiles to an ONNX model: the graph after one of the first two stages, which sluice-show writes.
#pragma once

#include "orchestrator/compile/compile.h"

namespace sluice {

// Returns the exit code: that of the stages, or of sluice-show. Errors: kUsage when the last stage
// is a later one, and with a sandbox, in which sluice-show does not run; those of compile().
Result<int> compile_to_onnx(const CompileRequest& request);

}  // namespace sluice
