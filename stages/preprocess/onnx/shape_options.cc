#include "stages/preprocess/onnx/shape_options.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "common/base/listed_values.h"

namespace sluice {
namespace {

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Parses "4", or "1~8".
std::optional<DimRange> extent(std::string_view text) {
  const size_t tilde = std::min(text.find('~'), text.size());
  const auto low = number(text.substr(0, tilde));
  const auto high = tilde == text.size() ? low : number(text.substr(tilde + 1));
  if (!low || !high || *low < 0 || *high < *low) return std::nullopt;
  return DimRange{*low, *high};
}

std::optional<std::vector<std::optional<DimRange>>> shape(std::string_view text) {
  std::vector<std::optional<DimRange>> extents;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, comma);
    extents.push_back(extent(item));
    if ((!extents.back() && item != "-1") || comma + 1 == text.size()) return std::nullopt;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return extents;
}

std::optional<DimRange> range(std::string_view text) {
  const size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    const auto value = number(text);
    if (!value || *value < 0) return std::nullopt;
    return DimRange{*value, *value};
  }
  const auto low = number(text.substr(0, dots));
  const auto high = number(text.substr(dots + 2));
  if (!low || !high || *low < 0 || *high < *low) return std::nullopt;
  return DimRange{*low, *high};
}

}  // namespace

Result<ShapeOptions> parse_shape_options(const Options& options) {
  ShapeOptions parsed;
  for (const std::string& item : listed_values(options.text("input-shape"), kInputShapeEnd)) {
    const size_t colon = item.rfind(':');  // names of inputs may contain colons
    const auto extents =
        colon == std::string::npos ? std::nullopt : shape(std::string_view(item).substr(colon + 1));
    if (!extents) {
      return make_error(ErrorCode::kBadOption,
                        "--input-shape has '{}', expected NAME:D0,D1,... with whole numbers, "
                        "bounds LOW~HIGH or -1",
                        item);
    }
    if (!parsed.inputs.emplace(item.substr(0, colon), *extents).second) {
      return make_error(ErrorCode::kBadOption, "--input-shape names input '{}' twice",
                        item.substr(0, colon));
    }
  }
  for (const std::string& item : listed_values(options.text("dim"), kDimEnd)) {
    const size_t equal = item.rfind('=');
    const auto bounds =
        equal == std::string::npos ? std::nullopt : range(std::string_view(item).substr(equal + 1));
    if (!bounds)
      return make_error(ErrorCode::kBadOption,
                        "--dim has '{}', expected NAME=VALUE or NAME=LOW..HIGH with whole numbers "
                        "from 0 to {}, LOW at most HIGH",
                        item, INT64_MAX);
    const auto [known, inserted] = parsed.dims.emplace(item.substr(0, equal), *bounds);
    if (!inserted && (known->second.low != bounds->low || known->second.high != bounds->high)) {
      return make_error(ErrorCode::kBadOption, "--dim gives '{}' two values",
                        item.substr(0, equal));
    }
  }
  return parsed;
}

}  // namespace sluice
