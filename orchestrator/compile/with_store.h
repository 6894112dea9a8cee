// --store: runs the stages one after the other, over files, and keeps what each makes. A stage
// whose product the store has does not run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/store/store.h"
#include "orchestrator/compile/compile.h"
#include "orchestrator/compile/pipeline.h"
#include "orchestrator/process/output_file.h"

namespace sluice {

// The stages, and what they depend on besides their input.
struct StoredWork {
  std::vector<StageRun> stages;                     // all five, without semantic options
  std::vector<std::vector<std::string>> arguments;  // the semantic options of each
  std::string profile;                              // value of --profile
  // The file that constants are in, when a graph was made of one elsewhere; empty: graphs know.
  std::string model;
  std::string folder;  // for graphs that are being made
  // False for a compiled model that is not whole without other files: the last stage then always
  // runs, and its product is not kept.
  bool keeps_model = true;
  // When set: gets the keys of the jobs (plan/kernel_job.h) of all kernels that the graph needs and
  // the store does not have, before subgraph-optimize runs, which generates what is missing then.
  // An error ends the compile.
  std::function<Result<void>(const std::vector<Digest>& keys)> make_kernels = {};
};

// What the import made: a file, or an artifact of the store.
struct ImportedGraph {
  std::string file;  // empty: it is in the store
  Digest artifact;
  Digest graph;  // its file digest
};

// Runs the import, which is not looked up: it hashes the constants, and finds the files that the
// model consists of. Returns nothing when it fails, which has then been reported to `done`.
Result<std::optional<ImportedGraph>> import_model(const StoredWork& work, const StageDone& done);

// Finds or runs the other stages. `done` is called for every stage, found or run, in order. Returns
// whether all succeeded; the model is then in `output`, which is a regular file. A store that
// cannot be used costs time and no result: store.fault() says why.
Result<bool> compile_graph(const StoredWork& work, const ImportedGraph& graph, Store& store,
                           OutputFile& output, const StageDone& done);

}  // namespace sluice
