// One stage's work on one graph as a job: whatever asks for it, and wherever it runs, a job of
// equal fields has an equal product.
#pragma once

#include <string>
#include <vector>

#include "common/base/digest.h"
#include "common/base/result.h"
#include "common/store/record.h"

namespace sluice {

struct StageJob {
  std::string stage;                 // "optimize"
  std::string program;               // the path of the stage's program
  std::vector<std::string> options;  // "--name=value", the semantic ones that this stage is given
  std::string profile;  // the value of --profile, which every stage but the first reads
  Digest input;         // the file digest of its graph
};

// Sorts arguments "--name=value", but for those whose order has a meaning.
void sort_arguments(std::vector<std::string>& arguments);

// Returns the fields of the job's record, whose kind is the stage: release and build of the
// program, the digest of the graph, the options, with the content of files in place of their paths,
// and the profile, with "native" resolved for this CPU. Errors: those of reading the files.
Result<Fields> fields_of(const StageJob& job);

// Returns how records name the profile of this value of --profile: its name, "native NAME" for what
// this CPU can run, or "content DIGEST" of a file. Errors: those of reading it.
Result<std::string> profile_field(const std::string& option);
// Returns the value of --profile that such a field stands for; of a file "content DIGEST".
std::string profile_option(const std::string& field);

}  // namespace sluice
