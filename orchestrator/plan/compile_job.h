// The compile of an imported graph as a job that any process with the store can run: its file in
// the store says everything (DIR/jobs, common/store/store.h).
#pragma once

#include <string>
#include <vector>

#include "common/base/digest.h"
#include "common/base/result.h"
#include "common/store/store.h"

namespace sluice {

inline constexpr char kCompileKind[] = "compile";  // of the record of such a job

struct CompileJob {
  Digest graph;       // file digest of the imported graph
  Digest artifact;    // its bytes, in the store
  Digest constants;   // an artifact that lists those of the store that it reads; zero: no list
  std::string model;  // the file that its constants are in; empty: they are in the store
  // The semantic options of each stage; the import has had its own.
  std::vector<std::vector<std::string>> arguments;
  std::string profile;  // value of --profile
};

// Returns the record of the job without its product. Its key depends on graph, options, profile and
// the builds of the stages' programs; the artifact and the model's file are no part of it. The
// contents of files that options name are kept in the store. Errors: those of reading such files,
// kProgramMissing.
Result<Record> record_of(const CompileJob& job, Store& store);

// Returns the job of a record. Files that options name are written to the folder. Errors: kBadFile
// when the record is of no such job, or the store has lost such a file.
Result<CompileJob> job_of(const Record& record, Store& store, const std::string& folder);

}  // namespace sluice
