// A branch of an If that cannot run with the current sizes has a single node, Fail, which reports
// the reason when it runs. The branch is an error only when it is taken.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

// Returns true for errors of inference about the sizes and types of a node's inputs, which may be
// right with others.
bool is_of_sizes(ErrorCode code);

// Returns null when the branch may run.
const Node* failing_node(const Graph& branch);

// Adds the Fail node of an empty graph; its results are the graph's outputs. They get the types of
// the other branch once it is inferred.
Node& add_failing_node(Graph& branch, size_t results, std::string message);

// Returns "node 'choose' (If): graph 'choose.else_branch' fails when it is taken: ...", for a
// warning.
std::string failing_branch_text(const Node& node, std::string_view branch,
                                std::string_view message);

}  // namespace sluice
