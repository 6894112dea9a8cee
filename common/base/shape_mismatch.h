// Says where the shape of a given tensor differs from the shape that is taken.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace sluice {

// Returns "axis 1 is 17, the model takes 16", or "it has 1 axis, the model takes 2"; empty when the
// shapes match. A wanted dim of -1 is open: any size matches it.
std::string shape_mismatch(std::span<const int64_t> wanted, std::span<const int64_t> given);

}  // namespace sluice
