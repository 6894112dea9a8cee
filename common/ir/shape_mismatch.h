// The messages about sizes that do not fit a node, shared by shape inference and evaluation.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

// Returns the message for a window larger than its input. in is the input's size, or an expression.
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
