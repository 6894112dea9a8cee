// Tests of passes take a textual graph and compare with a textual graph; both must compute the
// same.
#pragma once

#include <string>
#include <string_view>

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/graph.h"
#include "common/ir/op.h"
#include "common/pass/pass.h"

namespace sluice {

// A pass: a function, or a text of rules.
struct TestedPass {
  using Function = Result<bool> (*)(Graph& root, const Options& options);
  TestedPass(Function function) : function(function) {}  // NOLINT: implicit on purpose
  TestedPass(std::string_view rules) : rules(rules) {}   // NOLINT: the same
  TestedPass(const char* rules) : TestedPass(std::string_view(rules)) {}  // NOLINT: the same
  Pass row() const;

  Function function = nullptr;
  std::string_view rules;
};

// Runs the pass once on the graph (the text without its first line). It must produce `after`,
// return truly whether it changed something, and the result must verify. Where every input is f32
// of a fixed shape, both graphs are evaluated on random inputs and must agree: every output to 1e-5
// of its largest element.
void expect_rewrite(const TestedPass& pass, const std::string& before, const std::string& after);

// The same without a text of the result, in which no node of `gone` may be left. Every input must
// be f32 of a fixed shape.
void expect_decomposed(const TestedPass& pass, const std::string& before, Op gone);

// Expects that the pass leaves the graph as it is.
void expect_unchanged(const TestedPass& pass, const std::string& text);

}  // namespace sluice
