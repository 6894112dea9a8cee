// What is said of sizes that do not fit a node: the same when its shapes are inferred as when it is
// evaluated.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

// `in`: the size, or an expression.
inline std::string window_mismatch(int64_t extent, std::string_view in, int64_t before,
                                   int64_t after) {
  return fmt::format("a window of {} does not fit into {} with pads {} and {}", extent, in, before,
                     after);
}

inline std::string split_mismatch(int64_t elements, int64_t pieces) {
  return fmt::format(
      "{} elements cannot be split into {} pieces of equal size, but for a smaller last one",
      elements, pieces);
}

}  // namespace sluice
