// The run of a stage at a worker that listens, as a job of the farm's messages
// (schemas/farm.proto): its record, of kind "stage", says everything. Client and worker of one user
// on one machine name files to each other; all others send them: what the stage reads and writes is
// then artifacts, which the two get from each other's stores by their digests.
//
//   stage optimize                the fields. Each run has a key of its own
//   release 0.9.0
//   run 3fa0…
//   option --opt-level=O3         as on the command line; files are named from any folder
//   names <in> /models/x.onnx      a file that is named: of an option, or one of kPlaces
//   reads <stdin> 9ab1… x.sg      a file that is sent, under this name
//   makes --dump-dir 2-optimize   what is sent back, under this name
//   readable /models              what a sandbox lets it read, besides what is sent, and write
//
//   messages …                    the results: its warnings
//   made.0 88c1…                  the artifact of what it made, and where it belongs
//   path.0 --dump-dir 2-optimize/3-name.txt
#pragma once

#include <string>
#include <vector>

#include "common/base/digest.h"
#include "common/base/result.h"
#include "common/store/store.h"
#include "orchestrator/compile/stage_run.h"

namespace sluice {

inline constexpr char kStageKind[] = "stage";  // of the record of such a job

struct SentStage {
  StageRun run;        // input: the file that it names itself, or "-"
  std::string input;   // for its standard input; empty: none
  std::string output;  // for its standard output
};

// ---- at the client

enum class FileNaming : uint8_t {
  kSent,      // files are kept in the store, which gives them to the worker
  kAbsolute,  // the worker is in another folder
  kAsGiven,   // the worker is in this folder, so that its messages name files as they were given
};
// Returns the record of a run; what the store could not keep, its fault() says. Errors: those of
// reading files that are sent; kBadOption for what cannot be sent.
Result<Record> record_of(const SentStage& stage, FileNaming names, Store& store);
// Puts what came back where the run's options say. Errors: kBadReply for what nobody asked for;
// those of writing files.
Result<void> take_made(const SentStage& stage, const Record& made, Store& store);

// ---- at the worker

struct SentPlaces {
  std::string stage;         // the only one that runs here; empty: any
  bool names_files = false;  // jobs may name files
  std::string folder;        // for what is sent, of one run alone
  std::string store;         // for constants and kernels of runs that are sent; empty: none
  std::optional<Sandbox> limits;
  bool allows_passes = false;  // of users
};

// Returns the artifacts that the run of a record reads.
std::vector<Digest> artifacts_read(const Record& record);
// Returns the run, once these are in the store. Errors: kBadRequest, for another stage or release,
// for files that are named or not named, and for options that a job cannot have.
Result<SentStage> sent_stage_of(const Record& record, const SentPlaces& places, Store& store);
// Keeps what the run made in the store, and adds it to the results. Errors: kIo.
Result<void> keep_made(const Record& record, const SentPlaces& places, Store& store,
                       Fields& results);

}  // namespace sluice
