#include "common/base/spelling.h"

#include <algorithm>

#include "fmt/core.h"

namespace sluice::text {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

size_t bare_name_length(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    if (is_letter(c) || is_digit(c) || c == '.' || c == '/' || c == '~' || c == '-') {
      ++i;
    } else if (c == ':' && i + 1 < text.size() && text[i + 1] == ':') {
      i += 2;
    } else {
      break;
    }
  }
  return i;
}

size_t word_length(std::string_view text) {
  if (text.empty() || !is_letter(text[0])) return 0;
  size_t i = 1;
  while (i < text.size() &&
         (is_letter(text[i]) || is_digit(text[i]) || text[i] == '.' || text[i] == '~'))
    ++i;
  return i;
}

bool is_number_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

std::string quoted_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (byte < 0x20 || byte >= 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string spelled(char sigil, std::string_view name) {
  const bool bare = !name.empty() && bare_name_length(name) == name.size() && !is_number_name(name);
  return bare ? fmt::format("{}{}", sigil, name) : sigil + quoted_text(name);
}

std::string spelled_word(std::string_view name) {
  return !name.empty() && word_length(name) == name.size() ? std::string(name) : quoted_text(name);
}

}  // namespace sluice::text
