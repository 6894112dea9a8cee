// Sizes for people.
#pragma once

#include <cstdint>
#include <string>

#include "fmt/format.h"

namespace sluice {

// Returns "12 B", "3.4 kB", "102.5 MB", "7.0 GB": decimal units.
inline std::string size_text(uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  if (bytes < 1000 * 1000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  if (bytes < 1000 * 1000 * 1000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

}  // namespace sluice
