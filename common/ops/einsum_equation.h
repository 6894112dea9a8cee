// The equation of an Einsum whose inputs have known ranks, with a letter for each of their axes.
// Inference, which may know less, reads it for itself (einsum.cc).
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

struct EinsumEquation {
  // The letters of each input's axes, in order. Those of "..." are '\1', '\2', … counted from the
  // right.
  std::vector<std::string> operands;
  std::string result;
};

// Writes letters for "...", which stands for `count` axes.
inline std::string without_dots(std::string term, size_t count) {
  const size_t dots = term.find("...");
  if (dots == std::string::npos) return term;
  std::string letters;
  for (size_t i = count; i > 0; --i) letters += static_cast<char>(i);
  return term.replace(dots, 3, letters);
}

// Without "->" the result has "...", then the letters that occur once, sorted.
inline std::string implied_result(const std::vector<std::string>& operands, size_t dots) {
  std::map<char, int> uses;
  for (const std::string& term : operands) {
    for (const char letter : term) ++uses[letter];
  }
  std::string result = without_dots("...", dots);
  for (const auto& [letter, count] : uses) {
    if (letter >= 'A' && count == 1) result += letter;
  }
  return result;
}

// Nothing when the terms do not fit the inputs' ranks.
inline std::optional<EinsumEquation> read_einsum(std::string text,
                                                 const std::vector<int64_t>& ranks) {
  constexpr size_t kMaxDots = 30;  // below the letters
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  EinsumEquation equation;
  size_t widest = 0;
  for (size_t at = 0; at <= left.size();) {
    const size_t comma = std::min(left.find(',', at), left.size());
    std::string term = left.substr(at, comma - at);
    if (equation.operands.size() == ranks.size()) return std::nullopt;
    const auto rank = static_cast<size_t>(ranks[equation.operands.size()]);
    if (term.find("...") != std::string::npos) {
      if (rank + 3 < term.size() || rank + 3 - term.size() > kMaxDots) return std::nullopt;
      widest = std::max(widest, rank + 3 - term.size());
      term = without_dots(term, rank + 3 - term.size());
    }
    if (term.size() != rank) return std::nullopt;
    equation.operands.push_back(std::move(term));
    at = comma + 1;
  }
  if (equation.operands.size() != ranks.size()) return std::nullopt;
  equation.result = arrow == std::string::npos ? implied_result(equation.operands, widest)
                                               : without_dots(text.substr(arrow + 2), widest);
  return equation;
}

}  // namespace sluice
