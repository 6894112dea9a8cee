// Cast, CastLike, BitCast.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/eval/axes.h"
#include "common/eval/kernels.h"
#include "common/eval/number.h"
#include "common/ops/attributes.h"
#include "common/ops/narrowing.h"

namespace sluice::eval {
namespace {

std::string number_text(DType dtype, const std::byte* data, int64_t index) {
  if (!dtype_is_float(dtype)) {
    int64_t value = 0;
    load_ints(dtype, data, index, 1, &value);
    return dtype == DType::kU64 ? fmt::format("{}", static_cast<uint64_t>(value))
                                : fmt::format("{}", value);
  }
  double value = 0;
  load_doubles(dtype, data, index, 1, &value);
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "INF" : "-INF";
  char text[64];  // the shortest text that parses to the same number
  const auto end = dtype == DType::kF64
                       ? std::to_chars(text, text + sizeof text, value)
                       : std::to_chars(text, text + sizeof text, static_cast<float>(value));
  return {text, end.ptr};
}

Result<void> cast_to_strings(EvalCall& call) {
  const Input& x = call.input(0);
  std::vector<std::string> texts;
  for (int64_t i = 0; i < x.count; ++i) texts.push_back(number_text(x.dtype, x.data, i));
  call.set_value(0, EvalValue::of(make_string_tensor(to_vector(x.dims), texts)));
  return {};
}

bool parse_special(std::string text, double& value) {
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  const bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.erase(0, 1);
  if (text != "nan" && text != "inf" && text != "infinity") return false;
  value = text == "nan" ? std::numeric_limits<double>::quiet_NaN()
                        : std::numeric_limits<double>::infinity();
  if (negative) value = -value;
  return true;
}

// Blanks around a number are ignored, as in numpy.
std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const size_t first = std::min(text.find_first_not_of(kBlanks), text.size());
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

Result<void> cast_from_strings(EvalCall& call, DType to, const Narrowing& narrowing) {
  const EvalValue held = value_of(call.operands[0]);
  SLUICE_ASSIGN(const Output y, call.output(0, to, held.tensor->dims));
  for (int64_t i = 0; i < y.count; ++i) {
    const std::string_view whole = string_at(*held.tensor, static_cast<uint64_t>(i));
    const std::string_view text = trimmed(whole);
    double value = 0;
    int64_t integer = 0;
    const char* begin = text.data() + (!text.empty() && text[0] == '+' ? 1 : 0);
    const char* end = text.data() + text.size();
    if (const auto read = std::from_chars(begin, end, integer);
        !dtype_is_float(to) && read.ec == std::errc() && read.ptr == end) {
      store_ints(to, y.data, i, 1, &integer);
      continue;
    }
    const auto read = std::from_chars(begin, end, value);
    if ((read.ec != std::errc() || read.ptr != end) && !parse_special(std::string(text), value))
      return call.bad_value("element {} is '{}', which is no number", i, whole);
    store_doubles(to, y.data, i, 1, &value, narrowing);
  }
  return {};
}

Result<void> cast(EvalCall& call, DType to) {
  const Input& x = call.input(0);
  if (!call.has(0)) return call.bad_value("it has no input");
  if (x.dtype == to) {
    call.set_value(0, value_of(call.operands[0]));
    return {};
  }
  if (to == DType::kString) return cast_to_strings(call);
  if (!dtype_is_valid(static_cast<int>(to)) || to == DType::kC64 || to == DType::kC128)
    return call.unsupported(to);
  if (x.dtype == DType::kString) return cast_from_strings(call, to, narrowing_of(call.node));
  if (x.dtype == DType::kC64 || x.dtype == DType::kC128) return call.unsupported(x.dtype);
  SLUICE_ASSIGN(const Output y, call.output(0, to, to_vector(x.dims)));
  convert(x.dtype, x.data, to, y.data, x.count, narrowing_of(call.node));
  return {};
}

}  // namespace

Result<void> eval_cast(EvalCall& call) {
  return cast(call, static_cast<DType>(call.node.get(attributes::Cast::to)));
}
Result<void> eval_cast_like(EvalCall& call) { return cast(call, call.input(1).dtype); }

Result<void> eval_bit_cast(EvalCall& call) {
  const Input& x = call.input(0);
  const auto to = static_cast<DType>(call.node.get(attributes::BitCast::to));
  if (!dtype_is_valid(static_cast<int>(to)) || dtype_bits(to) != dtype_bits(x.dtype))
    return call.bad_value("types {} and {} have different widths", dtype_name(x.dtype),
                          dtype_name(to));
  SLUICE_ASSIGN(const Output y, call.output(0, to, to_vector(x.dims)));
  if (y.count > 0) std::memcpy(y.data, x.data, dtype_bytes(to, static_cast<uint64_t>(y.count)));
  return {};
}

}  // namespace sluice::eval
