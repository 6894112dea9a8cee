// Tests of passes take a textual graph and compare with a textual graph; both must compute the
// same.
#pragma once

#include <string>

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/graph.h"
#include "common/ir/op.h"

namespace sluice {

using PassFunction = Result<bool> (*)(Graph& root, const Options& options);

// Runs the pass once on the graph (the text without its first line). It must produce `after`,
// return truly whether it changed something, and the result must verify. Where every input is f32
// of a fixed shape, both graphs are evaluated on random inputs and must agree: every output to 1e-5
// of its largest element.
void expect_rewrite(PassFunction pass, const std::string& before, const std::string& after);

// The same without a text of the result, in which no node of `gone` may be left. Every input must
// be f32 of a fixed shape.
void expect_decomposed(PassFunction pass, const std::string& before, Op gone);

// Expects that the pass leaves the graph as it is.
void expect_unchanged(PassFunction pass, const std::string& text);

}  // namespace sluice
