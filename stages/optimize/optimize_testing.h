// Tests of passes: a textual graph in, a textual graph out, and both mean the same.
#pragma once

#include <string>

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

using PassFunction = Result<bool> (*)(Graph& root, const Options& options);

// Runs the pass once on the graph (the text without its first line). It must give `after`, answer
// truly whether it changed something, and the result must verify. Where every input is f32 of a
// fixed shape, both graphs are evaluated on random inputs and must agree: every output to 1e-5 of
// its largest element.
void expect_rewrite(PassFunction pass, const std::string& before, const std::string& after);

// The pass leaves the graph as it is.
void expect_unchanged(PassFunction pass, const std::string& text);

}  // namespace sluice
