// Proposes sizes for the open dims of a model's inputs with which it can be compiled, found by
// trial.
#pragma once

#include <cstdint>

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/base/size_proposal.h"
#include "common/ir/module.h"

namespace sluice {

// Proposes sizes for a typed module. Each trial infers the types of a copy that has these sizes;
// constants are shared with it, none is loaded for it. At most kMaxTries, and fewer for large
// models: together they visit kMaxWork nodes, or three times every node. The result depends on the
// module alone.
inline constexpr size_t kMaxTries = 128;
inline constexpr uint64_t kMaxWork = 1'000'000;
Result<SizeProposal> propose_sizes(const Module& module, const Options& options);

}  // namespace sluice
