// Runs stages one after the other, over files. With a store, what each makes is kept there, and a
// stage whose product the store has does not run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/store/store.h"
#include "orchestrator/compile/stage_run.h"
#include "orchestrator/process/output_file.h"

namespace sluice {

// A graph between two stages: a file, or an artifact of the store that has not been fetched.
struct GraphProduct {
  std::string file;  // empty: it is in the store
  Digest artifact = {};
  Digest graph = {};           // its file digest; zero where no store is asked
  bool is_of_earlier = false;  // of an earlier compile, whose model may have been elsewhere
  bool is_own_input = false;   // the stage after it names the file itself
};

struct StageFiles {
  std::string input;   // for its standard input; empty: it names its input itself
  std::string output;  // for its standard output
};
// Runs a stage to its end. Errors: those of starting it.
using StartStage = std::function<Result<StageReport>(const StageRun&, const StageFiles&)>;

struct OrderedStages {
  std::vector<StageRun> stages;
  std::string folder;      // for graphs that are being made
  Store* store = nullptr;  // none: all stages run. What follows is for a store
  std::string profile;     // value of --profile
  // The file that constants are in, when a graph was made of one elsewhere; empty: graphs know.
  std::string model;
  // When set: gets the keys of the jobs (plan/kernel_job.h) of all kernels that the graph needs and
  // the store does not have, before subgraph-optimize runs, which generates what is missing then.
  // An error ends the compile.
  std::function<Result<void>(const std::vector<Digest>& keys)> make_kernels = {};
  StartStage start = {};  // unless set, each stage is a process of this machine
};

// Finds or runs the stages; the import always runs: it hashes the constants, and finds the files
// that the model consists of. `input` is what the first stage reads; none: it names its input
// itself. `done` is called for every stage, found or run, in order. Returns
// whether all succeeded; the product is then in `output`, which is a regular file. A store that
// cannot be used costs time and no result: store.fault() says why. Errors: kInternal for a product
// that differs from the store's; those of files.
Result<bool> run_in_order(const OrderedStages& work, std::optional<GraphProduct> input,
                          OutputFile& output, const StageDone& done);

// Returns the file digest of a graph file.
Result<Digest> graph_digest(const std::string& file);
// Returns the record of a stage's product, without results, for a graph of this digest.
Result<Record> stage_record(const StageRun& stage, const std::string& profile, const Digest& input);
// Writes a job for each kernel that the graph needs and the store of the stage, subgraph-optimize,
// lacks. folder: for subgraphs. Errors: those of make_kernel_jobs.
Result<std::vector<Digest>> missing_kernels(const StageRun& stage, const std::string& graph,
                                            const std::string& folder);

}  // namespace sluice
