// The names of objects in a textual graph. For common/text and common/tools.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/spelling.h"
#include "common/ir/module.h"

namespace sluice::text {

// Makes names unique: a repeated one gets "~1", "~2" …
class UniqueNames {
 public:
  std::string add(const std::string& name);

 private:
  std::map<std::string, uint32_t> used_;  // by name, the next number to try
};

// Returns the names of the values of a graph, by value id; values without name are numbered in the
// order in which the text defines them.
std::vector<std::string> value_names(const Graph& graph);
// Returns the same names as if the graph had no constants, all of which are called "constant".
std::vector<std::string> value_names_without_constants(const Graph& graph);
// Returns the names of the graphs of a module, by graph id.
std::vector<std::string> graph_names(const Module& module);

// Returns true for constants that the text shows: neither erased nor unused.
bool is_shown_constant(const Value& value);

}  // namespace sluice::text
