// Reads which engine runs each node of a compiled model.
#pragma once

#include <string>

#include "common/base/result.h"
#include "orchestrator/conformance/case.h"

namespace sluice {

// Fills engines and ops from the ModelDef of a .om that sluice-build just wrote. A node of the
// user's model that became part of several nodes names their engines joined by '+'; one that was
// folded away has none. Errors: kBadCompiledModel.
Result<void> read_engines(const std::string& path, CaseResult& result);

}  // namespace sluice
