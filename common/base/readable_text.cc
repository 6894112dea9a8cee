#include "common/base/readable_text.h"

#include <algorithm>

#include "fmt/format.h"

namespace sluice {
namespace {

constexpr size_t kMaxWord = 400;  // a quoted name up to this many bytes is shown whole
constexpr size_t kWordStart = 200;

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::string shortened(std::string_view piece) {
  if (piece.size() <= kMaxWord) return std::string(piece);
  size_t end = kWordStart;
  while (is_continuation(piece[end])) --end;
  return fmt::format("{}… ({} bytes)", piece.substr(0, end), piece.size());
}

std::string escaped(char c) {
  return c == '\n' ? "\\n" : fmt::format("\\x{:02x}", static_cast<int>(c));
}

}  // namespace

std::string readable_text(std::string_view text) {
  std::string shown;
  bool is_quoted = false;
  for (size_t begin = 0, end = 0; begin <= text.size(); begin = end + 1, is_quoted = !is_quoted) {
    end = std::min(text.find('\'', begin), text.size());
    const std::string piece = shortened(text.substr(begin, end - begin));
    for (size_t i = 0; i < piece.size(); ++i) {
      const bool is_control = static_cast<unsigned char>(piece[i]) < 32 || piece[i] == 127;
      const bool is_our_break =
          piece[i] == '\n' && !is_quoted && piece.compare(i + 1, 2, "  ") == 0;
      shown += is_control && !is_our_break ? escaped(piece[i]) : std::string(1, piece[i]);
    }
    if (end < text.size()) shown += '\'';
  }
  return shown;
}

}  // namespace sluice
