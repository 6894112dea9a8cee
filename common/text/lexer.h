// Tokens of a textual graph. Internal to common/text.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"

namespace sluice::text {

enum class TokenKind : uint8_t {
  kEnd,
  kWord,      // f32, Conv, placement
  kNumber,    // -1, 0.5, 1e-3, 0x7fc00001, -inf
  kString,    // "…", decoded
  kValue,     // %x, decoded, without sigil
  kGraph,     // @main
  kConstant,  // $0
  kNode,      // #3
  kDigest,    // sha256:…, the 64 digits
  kMark,      // ( ) [ ] { } , : = * + - ? _ ->
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  size_t offset = 0;
  bool is_numbered = false;  // kValue, kGraph: %0, the name of an object without name

  bool is(std::string_view mark_or_word) const {
    return (kind == TokenKind::kMark || kind == TokenKind::kWord) && text == mark_or_word;
  }
};

class Lexer {
 public:
  Lexer(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  // The current token; advance() reports errors before it.
  const Token& token() const { return token_; }
  Result<void> advance();
  // Moves to the offset where a token begins and makes it the current one.
  Result<void> jump(size_t offset);

  // Returns the error "name:line:column: message", kBadText.
  Error error_at(size_t offset, const std::string& message) const;
  Error error(const std::string& message) const { return error_at(token_.offset, message); }

 private:
  void skip_space();
  Result<void> lex_string();
  Result<void> lex_sigil(TokenKind kind);
  Result<void> lex_digits(TokenKind kind);
  void lex_number();
  Result<void> lex_word_or_mark();
  char peek(size_t ahead = 0) const {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }

  std::string_view text_;
  const std::string& name_;
  size_t position_ = 0;
  Token token_;
};

}  // namespace sluice::text
