// What a compile will do, as data: its stages in order, with the options of each.
#pragma once

#include <string>
#include <vector>

#include "common/base/json.h"
#include "common/base/result.h"
#include "common/store/store.h"
#include "orchestrator/compile/compile.h"
#include "orchestrator/compile/stage_run.h"

namespace sluice {

// Which stages run.
struct CompileSteps {
  size_t first = 0;  // index into kStageNames
  size_t last = 0;
  std::string last_pass;  // after which the last one stops; empty: its last pass
  bool builds() const;    // the product is a compiled model, not a graph
};

// Errors: those of first_stage_for; kBadOption for --stop-after, and for an option whose last
// reader is before the first stage.
Result<CompileSteps> steps_of(const CompileRequest& request);

// The folders of a compile.
struct CompilePlaces {
  std::string store;    // empty: the stages run without one
  std::string scratch;  // of this compile alone; empty: nothing needs one
};

struct CompilePlan {
  CompileSteps steps;
  std::vector<StageRun> stages;  // those that run
  std::string profile;           // value of --profile
  // The file that constants are in, for graphs that come from the store; empty: graphs know.
  std::string model;
};

// Makes the folders that stages write besides their products. Errors: kBadOption, kProgramMissing,
// kIo.
Result<CompilePlan> plan_compile(const CompileRequest& request, const CompileSteps& steps,
                                 const CompilePlaces& places);

// Returns whether stages run one after the other, with a store: for their products, or the kernels
// that a farm makes.
bool asks_store(const CompileRequest& request, const CompileSteps& steps);
// Returns whether a stage runs at a worker to which files are sent, which finds nothing of the
// user's: constants then travel with the graphs.
bool sends_files(const CompileRequest& request);
// Returns whether weights go into files beside the compiled model.
bool asks_for_weight_files(const CompileRequest& request);
// Returns the name that the compiled model gets; files of its weights are beside that.
const std::string& model_name(const CompileRequest& request);
// Returns the file for the statistics of a stage.
std::string stats_path(const CompilePlaces& places, const std::string& stage);

}  // namespace sluice
