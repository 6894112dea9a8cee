// A branch of an If that cannot run with the sizes at hand holds one node, Fail, which says why
// when it runs. The branch is wrong only when it is taken.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

// Whether an error of inference tells of the sizes and types that a node got, so that it may be
// right with others.
bool is_of_sizes(ErrorCode code);

// Null: the branch is one that may run.
const Node* failing_node(const Graph& branch);

// The Fail node of an empty graph and its results, the graph's outputs. Their types are those of
// the other branch, once it is inferred.
Node& add_failing_node(Graph& branch, size_t results, std::string message);

// "node 'choose' (If): graph 'choose.else_branch' fails when it is taken: ...", for a warning.
std::string failing_branch_text(const Node& node, std::string_view branch,
                                std::string_view message);

}  // namespace sluice
