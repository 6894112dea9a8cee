// Values of graphs, by sluice-eval, and what differs between those of two, by sluice-diff.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/json.h"
#include "orchestrator/bisect/bisect.h"

namespace sluice {

// What is evaluated of a graph.
enum class ValuesKept : uint8_t { kOutputs, kAll };

// Evaluates a graph file and writes its values into a folder. Returns the error of a graph that
// cannot be evaluated.
Result<std::optional<Error>> evaluate_graph_file(const BisectRequest& request,
                                                 const std::string& graph, ValuesKept kept,
                                                 const std::string& folder);

// Compares two folders of values. Returns those that differ, in the order of `a`, as sluice-diff
// prints them: "name" and "text", and unless types or texts differ "a", "b", "apart", "largest" and
// "at".
Result<std::vector<Json>> differing_values(const BisectRequest& request, const std::string& a,
                                           const std::string& b);

// Compares two folders of outputs, each of which must be in both. Returns the output that differs
// most, in the same form, or nothing.
Result<std::optional<Json>> differing_output(const BisectRequest& request,
                                             const std::string& before, const std::string& after);

// Returns a number of such a difference as text, and as a number, infinite when it is no finite
// one.
std::string number_text(const Json& difference, const char* name);
double number_of(const Json& difference, const char* name);

}  // namespace sluice
