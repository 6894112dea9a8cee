#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// level: "typed", …, or empty for the graph's own. hash: the constants too. kDifferent when a rule
// is broken.
Result<void> verify_graph(const Module& module, const std::string& level, bool hash);
struct OmVerified {
  std::string figures;  // a line for each part: its arena, live and dense live bytes, scratch bytes
                        // per worker
  std::vector<std::string> unchecked;  // a sentence for each symbolic part that none of the sizes
                                       // tried binds; it has no figures
};

// What opening it would check, then the stream and the memory checker on every part; hash: the
// weights too. kDifferent when tasks may collide or read what they should not.
Result<OmVerified> verify_om(std::span<const std::byte> bytes, bool hash);

}  // namespace sluice
