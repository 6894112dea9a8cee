// Sizes of open dims that sluice-preprocess found by trial, in the file of --propose-sizes:
// {"dims": ["batch=1", "seq=128"], "tries": 1, "failure": ""}.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"

namespace sluice {

struct SizeProposal {
  std::vector<std::string> dims;  // values of --dim; empty: no dim is open, or no tried sizes work
  size_t tries = 0;
  // The error of the first sizes tried; empty: no dim is open, or dims are found.
  std::string failure;
};

Result<void> write_proposal(const SizeProposal& proposal, const std::string& path);
// Reads a proposal. Errors: kBadFile, and those of reading.
Result<SizeProposal> read_proposal(const std::string& path);

// Returns "--dim batch=1 --dim seq=128", ready to be copied: quoted for a shell where needed.
std::string dim_options(const SizeProposal& proposal);

}  // namespace sluice
