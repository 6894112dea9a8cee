// Tokens of textual formats: graphs (common/text), loops (common/loop) and rules (common/rules).
#pragma once

#include <cstdint>
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
  kMark,      // ( ) [ ] { } , : = * + - / ? _ | < > <= >= == != ->
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

std::string shown(const Token& token);  // for messages: "'for'", "%x", "the end"

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
  // Returns the error that something else stands where `wanted` should.
  Error unexpected(std::string_view wanted) const;

  // Small steps of parsers; `what` is for the message.
  Result<bool> skip(std::string_view mark_or_word);  // true when it was there
  Result<void> expect(std::string_view mark_or_word);
  Result<Token> take(TokenKind kind, std::string_view what);
  Result<std::string> take_name(std::string_view what);  // a word or a string
  Result<int64_t> take_int(std::string_view what, int64_t low = INT64_MIN,
                           int64_t high = INT64_MAX);

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
