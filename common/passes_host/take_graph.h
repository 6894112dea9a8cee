// Takes the graph that a pass of a user made into a stage.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// Puts the graph in the place of the module it was made from, whose facts stay: level, passes,
// options, provenance. Constants that it names by digest alone keep their place. `sent` are the
// bytes that the pass got. Returns whether it differs from them in more than places. Errors:
// kPassFailed for bytes that are no whole graph, one that does not verify, or one with other inputs
// or outputs.
Result<bool> take_graph(Module& module, const std::vector<std::byte>& sent,
                        std::vector<std::byte> made);

}  // namespace sluice
