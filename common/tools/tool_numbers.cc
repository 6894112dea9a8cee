#include "common/tools/tool_numbers.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>

namespace sluice {

Result<std::pair<std::string, int64_t>> named_size(const std::string& text) {
  const size_t equals = std::min(text.rfind('='), text.size());
  const char* end = text.data() + text.size();
  int64_t size = -1;
  const bool is_number =
      equals < text.size() && std::from_chars(text.data() + equals + 1, end, size).ptr == end;
  if (is_number && size >= 0 && equals > 0) return std::pair(text.substr(0, equals), size);
  return make_error(ErrorCode::kBadOption, "--dim: '{}' is not NAME=SIZE", text);
}

Result<uint64_t> whole_number(const CommandLine& line, const char* option, uint64_t maximum) {
  const std::string digits = line.text(option);
  uint64_t number = 0;
  const auto done = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (done.ec == std::errc() && done.ptr == digits.data() + digits.size() && number <= maximum)
    return number;
  return make_error(ErrorCode::kBadOption, "{} is '{}', it must be a number", option, digits);
}

Result<double> number_from_0(const CommandLine& line, const char* option) {
  const std::string text = line.text(option);
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (!text.empty() && *end == 0 && number >= 0) return number;
  return make_error(ErrorCode::kBadOption, "{} is '{}', it must be a number of at least 0", option,
                    text);
}

Result<double> number_from_0_to(const CommandLine& line, const char* option, double maximum) {
  const std::string text = line.text(option);
  double number = 0;
  const auto done = std::from_chars(text.data(), text.data() + text.size(), number);
  if (done.ec == std::errc() && done.ptr == text.data() + text.size() && number >= 0 &&
      number <= maximum)
    return number;
  return make_error(ErrorCode::kBadOption, "{} is '{}', it must be a whole number from 0 to {}",
                    option, text, maximum);
}

}  // namespace sluice
