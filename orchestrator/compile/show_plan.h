// Says what a compile will do, for people and scripts: `sluice compile --plan`.
#pragma once

#include <string>

#include "orchestrator/compile/plan.h"

namespace sluice {

// Returns the jobs of a plan as text, a line for each, or as JSON: the stages, and with a store the
// kernels that it lacks. store: null, or where products are looked up; the import then runs, since
// the keys of what comes after it depend on what it makes. Errors: kStageFailed when the import
// fails, which the line of its own error says before; those of files.
Result<std::string> plan_text(const CompileRequest& request, const CompilePlan& plan,
                              const CompilePlaces& places, Store* store);

}  // namespace sluice
