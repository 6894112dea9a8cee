#include "common/base/lexer.h"

#include <algorithm>
#include <charconv>

#include "common/base/spelling.h"

namespace sluice::text {
namespace {

constexpr size_t kDigestDigits = 64;

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

std::string shown(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEnd:
      return "the end";
    case TokenKind::kString:
      return quoted_text(token.text);
    case TokenKind::kValue:
      return "%" + token.text;
    case TokenKind::kGraph:
      return "@" + token.text;
    case TokenKind::kConstant:
      return "$" + token.text;
    case TokenKind::kNode:
      return "#" + token.text;
    default:
      return "'" + token.text + "'";
  }
}

Error Lexer::error_at(size_t offset, const std::string& message) const {
  const std::string_view before = text_.substr(0, std::min(offset, text_.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t line_start =
      before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return make_error(ErrorCode::kBadText, "{}:{}:{}: {}", name_, line,
                    before.size() - line_start + 1, message);
}

Result<void> Lexer::jump(size_t offset) {
  position_ = offset;
  return advance();
}

// Skips blanks and comments. "#" starts a comment unless a digit follows.
void Lexer::skip_space() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++position_;
    } else if (c == '#' && !is_digit(peek(1))) {
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else {
      return;
    }
  }
}

Result<void> Lexer::advance() {
  skip_space();
  token_ = Token{};
  token_.offset = position_;
  if (position_ >= text_.size()) return {};
  switch (const char c = peek()) {
    case '"':
      token_.kind = TokenKind::kString;
      return lex_string();
    case '%':
      return lex_sigil(TokenKind::kValue);
    case '@':
      return lex_sigil(TokenKind::kGraph);
    case '$':
      return lex_digits(TokenKind::kConstant);
    case '#':
      return lex_digits(TokenKind::kNode);
    default:
      if (is_digit(c) ||
          (c == '-' && (is_digit(peek(1)) || text_.substr(position_ + 1).starts_with("inf")))) {
        lex_number();
        return {};
      }
      return lex_word_or_mark();
  }
}

Result<void> Lexer::lex_string() {
  for (++position_; position_ < text_.size(); ++position_) {
    const char c = text_[position_];
    if (c == '"') {
      ++position_;
      return {};
    }
    if (c == '\n') break;
    if (c != '\\') {
      token_.text += c;
      continue;
    }
    const char escape = peek(1);
    if (escape == 'x' && hex_value(peek(2)) >= 0 && hex_value(peek(3)) >= 0) {
      token_.text += static_cast<char>(hex_value(peek(2)) * 16 + hex_value(peek(3)));
      position_ += 3;
      continue;
    }
    static constexpr std::string_view kEscapes = "nt\"\\", kEscaped = "\n\t\"\\";
    const size_t which = kEscapes.find(escape);
    if (which == std::string_view::npos || escape == '\0')
      return error_at(position_, "unknown escape; there are \\n \\t \\\" \\\\ \\xHH");
    token_.text += kEscaped[which];
    ++position_;
  }
  return error("the text has no closing quote");
}

Result<void> Lexer::lex_sigil(TokenKind kind) {
  token_.kind = kind;
  ++position_;
  if (peek() == '"') return lex_string();
  const size_t length = bare_name_length(text_.substr(position_));
  if (length == 0) return error("a name must follow");
  token_.text = text_.substr(position_, length);
  token_.is_numbered = is_number_name(token_.text);
  position_ += length;
  return {};
}

Result<void> Lexer::lex_digits(TokenKind kind) {
  token_.kind = kind;
  for (++position_; is_digit(peek()); ++position_) token_.text += peek();
  if (token_.text.empty()) return error("a number must follow");
  return {};
}

void Lexer::lex_number() {
  token_.kind = TokenKind::kNumber;
  const size_t start = position_;
  if (peek() == '-') ++position_;
  const auto is_part = [&](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.';
  };
  while (is_part(peek()) || ((peek() == '-' || peek() == '+') &&
                             (text_[position_ - 1] == 'e' || text_[position_ - 1] == 'E')))
    ++position_;
  token_.text = text_.substr(start, position_ - start);
}

Result<void> Lexer::lex_word_or_mark() {
  const std::string_view remaining = text_.substr(position_);
  const size_t length = word_length(remaining);
  if (length == 6 && remaining.starts_with("sha256:")) {
    token_.kind = TokenKind::kDigest;
    position_ += 7;
    while (hex_value(peek()) >= 0) token_.text += text_[position_++];
    if (token_.text.size() != kDigestDigits) return error("a SHA-256 has 64 hex digits");
    return {};
  }
  if (length > 0 && remaining.substr(0, length) != "_") {
    token_.kind = TokenKind::kWord;
    token_.text = remaining.substr(0, length);
    position_ += length;
    return {};
  }
  token_.kind = TokenKind::kMark;
  static constexpr std::string_view kDoubles[] = {"->", "<=", ">=", "==", "!="};
  const bool is_double = std::ranges::any_of(
      kDoubles, [&](std::string_view mark) { return remaining.starts_with(mark); });
  token_.text = remaining.substr(0, is_double ? 2 : 1);
  static constexpr std::string_view kMarks = "()[]{},:=*+-?_<>/|";
  if (token_.text.size() == 1 && kMarks.find(remaining[0]) == std::string_view::npos)
    return error("unexpected " + quoted_text(token_.text));
  position_ += token_.text.size();
  return {};
}

// ---- steps of parsers

Error Lexer::unexpected(std::string_view wanted) const {
  return error(fmt::format("expected {}, found {}", wanted, shown(token())));
}

Result<bool> Lexer::skip(std::string_view mark_or_word) {
  if (!token().is(mark_or_word)) return false;
  SLUICE_TRY(advance());
  return true;
}

Result<void> Lexer::expect(std::string_view mark_or_word) {
  if (!token().is(mark_or_word)) return unexpected(fmt::format("'{}'", mark_or_word));
  return advance();
}

Result<Token> Lexer::take(TokenKind kind, std::string_view what) {
  if (token().kind != kind) return unexpected(what);
  Token taken = token();
  SLUICE_TRY(advance());
  return taken;
}

Result<std::string> Lexer::take_name(std::string_view what) {
  if (token().kind != TokenKind::kWord && token().kind != TokenKind::kString)
    return unexpected(what);
  std::string taken = token().text;
  SLUICE_TRY(advance());
  return taken;
}

Result<int64_t> Lexer::take_int(std::string_view what, int64_t low, int64_t high) {
  if (token().kind != TokenKind::kNumber) return unexpected(what);
  const std::string& digits = token().text;
  int64_t value = 0;
  const auto done = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (done.ec != std::errc() || done.ptr != digits.data() + digits.size()) return unexpected(what);
  if (value < low || value > high)
    return error(fmt::format("{} is {}, it must be in [{}, {}]", what, value, low, high));
  SLUICE_TRY(advance());
  return value;
}

}  // namespace sluice::text
