#include "orchestrator/store/limit.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "common/base/files.h"
#include "common/base/store_size.h"
#include "orchestrator/store/file_system.h"

namespace sluice {
namespace {

constexpr double kMaxBytes = 1e18;
constexpr std::string_view kUnits = "kMGTP";

std::string limit_path(const std::string& store) { return store + "/limit"; }

// Returns the factor of "", "B", "k", "kB" or "KiB", 0 when it is none of them.
double factor_of(std::string_view unit) {
  if (unit.ends_with('B')) unit.remove_suffix(1);
  if (unit.empty()) return 1;
  const size_t power = unit[0] == 'K' ? 0 : kUnits.find(unit[0]);
  const bool is_binary = unit.substr(1) == "i";
  if (power == std::string_view::npos || (unit.size() > 1 && !is_binary)) return 0;
  return std::pow(is_binary ? 1024.0 : 1000.0, static_cast<double>(power + 1));
}

}  // namespace

std::optional<uint64_t> find_limit(const std::string& store) {
  const Result<std::string> text = read_text(limit_path(store));
  if (!text) return std::nullopt;
  uint64_t bytes = 0;
  const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), bytes);
  const bool is_whole = code == std::errc() && std::string_view(end) == "\n";
  return is_whole ? std::optional(bytes) : std::nullopt;
}

Result<void> set_limit(const std::string& store, std::optional<uint64_t> bytes) {
  if (!bytes) return remove_file(limit_path(store));
  auto written = write_text(limit_path(store), fmt::format("{}\n", *bytes));
  if (!written) written.error().code = ErrorCode::kIo;
  return written;
}

void set_known_size(const std::string& store, uint64_t own_bytes, uint64_t linked_bytes) {
  const std::optional<uint64_t> limit = find_limit(store);
  const uint64_t bytes = own_bytes + linked_bytes;
  set_store_size(store, limit ? std::min(bytes, std::max(own_bytes, *limit / 20 * 19)) : bytes);
}

Result<uint64_t> bytes_from_text(const std::string& name, const std::string& text) {
  double number = 0;
  const auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  std::string_view unit(end, text.data() + text.size());
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  const double bytes = code == std::errc() ? number * factor_of(unit) : 0;
  const bool is_zero = code == std::errc() && number == 0 && factor_of(unit) > 0;
  if ((bytes > 0 && bytes <= kMaxBytes) || is_zero) return static_cast<uint64_t>(bytes);
  return make_error(ErrorCode::kBadOption,
                    "{} is '{}', expected a number of bytes: 10G, 500M, 1.5GB", name, text);
}

}  // namespace sluice
