// --store: runs the stages one after the other, over files, and keeps what each makes. A stage
// whose product the store has does not run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/store/store.h"
#include "orchestrator/compile/compile.h"
#include "orchestrator/compile/pipeline.h"
#include "orchestrator/process/output_file.h"

namespace sluice {

// Compiles the model of the request. stages: all five, without semantic options. folder: for graphs
// that are being made. `done` is called for every stage, found or run, in order. Returns whether
// all succeeded; the model is then in `output`, which is a regular file. A store that cannot be
// used costs time and no result: store.fault() says why.
Result<bool> compile_with_store(const CompileRequest& request, const std::vector<StageRun>& stages,
                                Store& store, const std::string& folder, OutputFile& output,
                                const StageDone& done);

}  // namespace sluice
