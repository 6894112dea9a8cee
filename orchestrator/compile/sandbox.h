// What the stages of a compile may read and write in a sandbox (docs/security.md).
#pragma once

#include <string>
#include <vector>

#include "common/base/command_line.h"
#include "common/sandbox/sandbox_options.h"
#include "orchestrator/compile/stage_run.h"

namespace sluice {

// Returns the limits of --sandbox, --sandbox-memory and so on; nothing when none is given. Errors:
// kBadOption.
Result<std::optional<Sandbox>> sandbox_asked_for(const CommandLine& line);

// Lets stages read what this model may consist of: the file, and its folder for external data.
void allow_model(const std::string& model, Sandbox& sandbox);
// Lets a stage read the files that its options name, and write what they ask for.
void allow_options(const std::vector<std::string>& options, Sandbox& sandbox);
// Lets a stage of a job read its store, the model and the files that options of any stage name.
void allow_job(const std::string& model, const std::vector<std::vector<std::string>>& arguments,
               StageRun& stage);

// Prints the layers that hold, and warns of those that do not. Errors: kIo, when none holds.
Result<void> report_layers(std::string_view program, bool quiet);

}  // namespace sluice
