// How names and texts are spelled in a textual graph. For common/text and common/tools.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/ir/module.h"

namespace sluice::text {

// Length of the longest prefix that can stand after a sigil without quotes: letters, digits,
// "_./~-" and "::".
size_t bare_name_length(std::string_view text);
// Length of the longest prefix that is a word: a letter or "_", then letters, digits and "_.~".
size_t word_length(std::string_view text);
bool is_number_name(std::string_view text);  // digits only: the name of something without name

std::string quoted(std::string_view text);               // "…" with \" \\ \n \t \xHH
std::string spelled(char sigil, std::string_view name);  // %conv1, %"a b"
std::string spelled_word(std::string_view name);         // conv1, "a b"
inline std::string spelled_number(char sigil, size_t number) {
  return fmt::format("{}{}", sigil, number);
}

// Names that occur once: a repeated one gets "~1", "~2" …
class UniqueNames {
 public:
  std::string add(const std::string& name);

 private:
  std::map<std::string, uint32_t> used_;  // and the next number to try
};

// What the values of a graph are called, by value id; nameless ones are numbered in the order in
// which the text defines them.
std::vector<std::string> value_names(const Graph& graph);
// What the graphs of a module are called, by graph id.
std::vector<std::string> graph_names(const Module& module);

// Constants that the text shows: neither erased nor unused.
bool is_shown_constant(const Value& value);

}  // namespace sluice::text
