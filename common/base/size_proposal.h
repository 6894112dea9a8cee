// Sizes of open dims that sluice-preprocess found by trying, in the file of --propose-sizes:
// {"dims": ["batch=1", "seq=128"], "tries": 1, "failure": ""}.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"

namespace sluice {

struct SizeProposal {
  std::vector<std::string>
      dims;  // values of --dim; empty: nothing is open, or no sizes tried will do
  size_t tries = 0;
  std::string
      failure;  // what the first sizes tried failed with; empty: nothing is open, or dims are found
};

Result<void> write_proposal(const SizeProposal& proposal, const std::string& path);
// Errors: kBadFile, those of reading.
Result<SizeProposal> read_proposal(const std::string& path);

// "--dim batch=1 --dim seq=128", ready to be copied: quoted for a shell where they need it.
std::string dim_options(const SizeProposal& proposal);

}  // namespace sluice
