#include "common/tools/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace sluice {
namespace {

// Returns the bytes of the letter that the text begins with; 0 when it is no UTF-8, or one that XML
// does not have (RFC 3629; XML 1.0, section 2.2).
size_t letter_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return first >= 0x20 || first == '\n' || first == '\t' ? 1 : 0;
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return 0;
  uint32_t letter = first & (0x7f >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    letter = letter << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = letter >= 0xd800 && letter < 0xe000;
  const bool is_letter = letter >= kSmallest[bytes] && letter <= 0x10ffff && !is_surrogate &&
                         letter != 0xfffe && letter != 0xffff;
  return is_letter ? bytes : 0;
}

}  // namespace

std::string xml_escaped(const std::string& text) {
  std::string escaped;
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = letter_bytes(std::string_view(text).substr(at));
    const char c = text[at];
    escaped += bytes == 0 ? "\xef\xbf\xbd"  // U+FFFD
               : c == '<' ? "&lt;"
               : c == '>' ? "&gt;"
               : c == '&' ? "&amp;"
                          : text.substr(at, bytes);
    at += std::max<size_t>(bytes, 1);
  }
  return escaped;
}

std::string svg_file(double width, double height, const std::string& style,
                     const std::string& content) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<style>{}</style>\n{}</svg>\n",
      width, height, style, content);
}

}  // namespace sluice
