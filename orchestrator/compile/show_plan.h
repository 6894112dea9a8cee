// Says what a compile will do, for people and scripts: `sluice compile --plan`.
#pragma once

#include <string>

#include "orchestrator/compile/plan.h"

namespace sluice {

// Returns the jobs of a plan as text, a line for each, or as JSON: the stages, and with a store the
// kernels that it lacks. store: where products are looked up; null: they are not. imported: the
// graph that the import made, on which the keys of what comes after it depend; empty: there is
// none. Errors: those of files, and of the programs that list kernels.
Result<std::string> plan_text(const CompileRequest& request, const CompilePlan& plan,
                              const CompilePlaces& places, Store* store,
                              const std::string& imported);

}  // namespace sluice
