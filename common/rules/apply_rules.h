// Runs a file of rules on a graph.
#pragma once

#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/pass/pass.h"
#include "common/rules/rule.h"

namespace sluice::rules {

// Applies the rules to every graph of the module (on_every_graph): the first rule everywhere in
// list order, then the next one, and again from the first while new nodes may match. A rule is
// tried again at what a replacement made and at its readers; after 10 visits for each node of the
// graph, and at least 1,000, it is cut off (kBadText: it matches what it makes). Makes one count
// for each rule.
Result<bool> apply_rules(Graph& root, const RuleFile& file, std::vector<RuleCount>& counts);

}  // namespace sluice::rules
