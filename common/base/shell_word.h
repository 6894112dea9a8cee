// A text as one word of a shell's command line, for lines that people copy.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace sluice {

// Returns the text unchanged when no character in it is special to a shell, otherwise in single
// quotes.
inline std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain = "_=.-/:,+@%";
  const bool is_plain = !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kPlain.find(c) != std::string_view::npos;
  });
  if (is_plain) return std::string(text);
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

}  // namespace sluice
