#include "common/tools/show_onnx/scope.h"

namespace sluice {
namespace {

// Returns the bytes of the character that begins the text, or 0 when it is not a valid one.
// Overlong forms and surrogates are invalid.
size_t character_bytes(std::string_view text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto follows = [&](size_t i, unsigned low, unsigned high) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return text.empty() ? 0 : 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1, 0x80, 0xBF) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool second = follows(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF);
    return second && follows(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (first < 0xF0 || first > 0xF4) return 0;
  const bool second = follows(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF);
  return second && follows(2, 0x80, 0xBF) && follows(3, 0x80, 0xBF) ? 4 : 0;
}

}  // namespace

std::string utf8_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t bytes = character_bytes(text);
    if (bytes > 0) {
      result += text.substr(0, bytes);
    } else {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    }
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return result;
}

const std::string& OnnxScope::define(const Value& value) {
  const auto [found, is_new] = names_.try_emplace(&value);
  if (is_new) found->second = fresh(value.name());
  return found->second;
}

void OnnxScope::alias(const Value& inner, const Value& outer) { names_[&inner] = name(&outer); }

const std::string& OnnxScope::name(const Value* value) const {
  static const std::string kAbsent;
  const auto found = names_.find(value);
  return found == names_.end() ? kAbsent : found->second;
}

std::string OnnxScope::fresh(const std::string& like) {
  return unique_.add(like.empty() ? fmt::format("{}", nameless_++) : utf8_text(like));
}

}  // namespace sluice
