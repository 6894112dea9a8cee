// The values of a repeatable option in one text, joined with ';'. Exporters write names that may
// contain any byte, also a ';'.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// The end of a value: only these characters follow the last `mark`.
struct ValueEnd {
  char mark;
  std::string_view characters;
  bool may_be_empty;  // nothing needs to follow the mark
};
inline constexpr ValueEnd kDimEnd = {'=', "0123456789.", false};
inline constexpr ValueEnd kInputShapeEnd = {':', "0123456789,~-", true};

inline bool ends_value(std::string_view text, const ValueEnd& end) {
  const size_t mark = text.rfind(end.mark);
  if (mark == std::string_view::npos) return false;
  const std::string_view remaining = text.substr(mark + 1);
  return (end.may_be_empty || !remaining.empty()) &&
         remaining.find_first_not_of(end.characters) == std::string_view::npos;
}

// Returns the values without empty ones. A ';' separates two values where the text before it is a
// whole value; otherwise it belongs to a name.
inline std::vector<std::string> listed_values(std::string_view text, const ValueEnd& end) {
  std::vector<std::string> values;
  for (size_t begin = 0, at = 0; begin < text.size(); ++at) {
    const bool is_over = at >= text.size();
    const bool is_between = !is_over && text[at] == ';' &&
                            (at == begin || ends_value(text.substr(begin, at - begin), end));
    if (!is_over && !is_between) continue;
    if (at > begin) values.emplace_back(text.substr(begin, at - begin));
    begin = at + 1;
  }
  return values;
}

}  // namespace sluice
