// The options of a compiled model, as they are given to the stages again.
#pragma once

#include <string>

#include "common/base/result.h"
#include "model.pb.h"
#include "orchestrator/compile/stage_options.h"

namespace sluice {

// Returns the semantic options that a compiled model records. Those that are typed as the path of a
// file, and recorded as its content, become files in the folder. Errors: kBadCompiledModel for an
// option that this release does not know; kIo.
Result<StageOptions> options_of_model(const pb::ModelDef& model, const std::string& folder);

// Returns a JSON file for --modify-mixlist with the content that is recorded: lines "Conv deny".
std::string mixlist_json(const std::string& lines);
// Returns one for --fusion-switch-file: lines "fuse-gelu on". Errors: kBadCompiledModel.
Result<std::string> switches_json(const std::string& lines);

}  // namespace sluice
