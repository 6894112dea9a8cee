// The spelling of names and texts in a textual graph. For common/text and common/tools.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/ir/module.h"

namespace sluice::text {

// Returns the length of the longest prefix that needs no quotes after a sigil: letters, digits,
// "_./~-" and "::".
size_t bare_name_length(std::string_view text);
// Returns the length of the longest prefix that is a word: a letter or "_", then letters, digits
// and "_.~".
size_t word_length(std::string_view text);
// Returns true for digits only: the name of an object without name.
bool is_number_name(std::string_view text);

std::string quoted(std::string_view text);               // "…" with \" \\ \n \t \xHH
std::string spelled(char sigil, std::string_view name);  // %conv1, %"a b"
std::string spelled_word(std::string_view name);         // conv1, "a b"
inline std::string spelled_number(char sigil, size_t number) {
  return fmt::format("{}{}", sigil, number);
}

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
// Returns the names of the graphs of a module, by graph id.
std::vector<std::string> graph_names(const Module& module);

// Returns true for constants that the text shows: neither erased nor unused.
bool is_shown_constant(const Value& value);

}  // namespace sluice::text
