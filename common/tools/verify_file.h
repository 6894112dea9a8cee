#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/omfile/weight_files.h"

namespace sluice {

// level: "typed", …, or empty for the graph's own. hash: also checks the constants. Returns
// kDifferent when a rule is broken.
Result<void> verify_graph(const Module& module, const std::string& level, bool hash);
struct OmVerified {
  // A line for each part: its arena, live and dense live bytes, scratch bytes per worker.
  std::string figures;
  // A sentence for each symbolic part that none of the tried sizes binds; it has no figures.
  std::vector<std::string> unchecked;
};

// Does the checks of opening the file, then runs the stream and the memory checker on every part.
// hash: also checks the weights, those in files at `weights` too. Returns kDifferent when tasks may
// collide or read wrong memory.
Result<OmVerified> verify_om(std::span<const std::byte> bytes, bool hash,
                             const WeightsPath& weights = {});

}  // namespace sluice
