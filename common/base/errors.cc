#include <algorithm>

#include "common/base/result.h"

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

// Makes a text printable. Names that the user chose are between quotes and may contain any byte.
// Control characters become escapes, except for the line breaks of our own lists, whose lines are
// indented; a name that is too long for a line is cut.
std::string readable(std::string_view text) {
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

}  // namespace

ExitClass exit_class(ErrorCode code) {
  switch (code) {
#define SLUICE_ERROR(name, number, exit, sentence) \
  case ErrorCode::name:                            \
    return ExitClass::exit;
#include "common/base/errors.def"
#undef SLUICE_ERROR
  }
  return ExitClass::kInternal;
}

bool is_error_code(uint16_t number) {
  switch (static_cast<ErrorCode>(number)) {
#define SLUICE_ERROR(name, number, exit, sentence) case ErrorCode::name:
#include "common/base/errors.def"
#undef SLUICE_ERROR
    return true;
  }
  return false;
}

std::string error_text(const Error& error) {
  std::string text =
      fmt::format("SL{:04}: {}", static_cast<int>(error.code), readable(error.message));
  if (!error.file.empty()) text += fmt::format(" [{}]", readable(error.file));
  if (!error.hint.empty()) text += fmt::format("\nhint: {}", readable(error.hint));
  return text;
}

}  // namespace sluice
