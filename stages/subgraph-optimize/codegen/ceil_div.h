#pragma once

#include <cstdint>

namespace sluice {

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t round_up(int64_t number, int64_t unit) { return ceil_div(number, unit) * unit; }

}  // namespace sluice
