// The equation of an Einsum: "bij,bjk->bik", with "..." for dims that broadcast. Without "->" the
// result has "...", then the letters that occur once, sorted. All that read an equation do so here;
// the evaluator, which does not link this library, is why everything is inline.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace sluice {

constexpr char kEinsumDots = '.';  // stands for "..."

// An equation as it is written: terms of letters and kEinsumDots.
struct EinsumTerms {
  std::vector<std::string> operands;
  std::string result;
};

inline bool is_einsum_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

inline Result<std::string> parse_einsum_term(std::string_view text) {
  std::string term;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text.substr(i, 3) == "..." && term.find(kEinsumDots) == std::string::npos) {
      term += kEinsumDots;
      i += 2;
    } else if (is_einsum_letter(text[i])) {
      term += text[i];
    } else {
      return make_error(ErrorCode::kBadNode, "'{}' where a letter is expected", text[i]);
    }
  }
  return term;
}

inline std::string implied_einsum_result(const std::vector<std::string>& operands) {
  std::map<char, int> counts;
  for (const std::string& term : operands) {
    for (const char letter : term) ++counts[letter];
  }
  std::string result = counts.contains(kEinsumDots) ? std::string(1, kEinsumDots) : std::string();
  for (const auto& [letter, count] : counts) {
    if (letter != kEinsumDots && count == 1) result += letter;
  }
  return result;
}

// The error says what stands where a letter is expected.
inline Result<EinsumTerms> parse_einsum(std::string_view equation) {
  const size_t arrow = equation.find("->");
  std::string_view left = equation.substr(0, arrow);
  EinsumTerms terms;
  while (true) {
    const size_t comma = left.find(',');
    SLUICE_ASSIGN(std::string term, parse_einsum_term(left.substr(0, comma)));
    terms.operands.push_back(std::move(term));
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  if (arrow == std::string_view::npos) {
    terms.result = implied_einsum_result(terms.operands);
  } else {
    SLUICE_ASSIGN(terms.result, parse_einsum_term(equation.substr(arrow + 2)));
  }
  return terms;
}

// The terms of an equation whose operands have known ranks, with a letter for each axis. Those of
// "..." are '\1', '\2', … counted from the right.
struct EinsumEquation {
  std::vector<std::string> operands;
  std::string result;
};

inline std::string without_einsum_dots(std::string term, size_t count) {
  const size_t dots = term.find(kEinsumDots);
  if (dots == std::string::npos) return term;
  std::string letters;
  for (size_t i = count; i > 0; --i) letters += static_cast<char>(i);
  return term.replace(dots, 1, letters);
}

// Returns nothing when the text is no equation, or its terms do not fit the ranks.
inline std::optional<EinsumEquation> read_einsum(std::string_view text,
                                                 const std::vector<int64_t>& ranks) {
  constexpr size_t kMaxDots = 30;  // below the letters
  const auto terms = parse_einsum(text);
  if (!terms || terms->operands.size() != ranks.size()) return std::nullopt;
  EinsumEquation equation;
  size_t widest = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const std::string& term = terms->operands[i];
    const auto rank = static_cast<size_t>(ranks[i]);
    const bool has_dots = term.find(kEinsumDots) != std::string::npos;
    const size_t named = term.size() - (has_dots ? 1 : 0);
    if (rank < named || rank - named > (has_dots ? kMaxDots : 0)) return std::nullopt;
    widest = std::max(widest, rank - named);
    equation.operands.push_back(without_einsum_dots(term, rank - named));
  }
  equation.result = without_einsum_dots(terms->result, widest);
  return equation;
}

}  // namespace sluice
