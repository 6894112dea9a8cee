// The spelling of names and texts in textual formats.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "fmt/core.h"

namespace sluice::text {

// Returns true for '0' to '9'.
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns the length of the longest prefix that needs no quotes after a sigil: letters, digits,
// "_./~-" and "::".
size_t bare_name_length(std::string_view text);
// Returns the length of the longest prefix that is a word: a letter or "_", then letters, digits
// and "_.~".
size_t word_length(std::string_view text);
// Returns true for digits only: the name of an object without name.
bool is_number_name(std::string_view text);

std::string quoted_text(std::string_view text);          // "…" with \" \\ \n \t \xHH
std::string spelled(char sigil, std::string_view name);  // %conv1, %"a b"
std::string spelled_word(std::string_view name);         // conv1, "a b"
inline std::string spelled_number(char sigil, size_t number) {
  return fmt::format("{}{}", sigil, number);
}

}  // namespace sluice::text
