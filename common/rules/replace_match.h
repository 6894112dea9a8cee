// Makes the replacement of one match.
#pragma once

#include <string>
#include <vector>

#include "common/ops/infer.h"
#include "common/pass/editor.h"
#include "common/rules/matcher.h"

namespace sluice::rules {

struct Replaced {
  std::string obstacle;        // why nothing was changed; empty when the match was replaced
  std::vector<Node*> made;     // new nodes; those over small constants have become constants
  bool types_changed = false;  // values that stay have more precise types than before
};

// Puts the replacement of the rule in the place of the match, or leaves the graph as it was: where
// types of new nodes cannot be inferred, or a result has another type than what it replaces.
// facts: of the graph, null where types are not known yet. has_types: whether they are known where
// the rule runs, so that numbers have the dtypes of values beside them.
Replaced replace_match(Editor& editor, const Rule& rule, const Match& match, ValueFacts* facts,
                       bool has_types);

}  // namespace sluice::rules
