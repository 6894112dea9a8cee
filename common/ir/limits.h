// Limits of a graph that no type can express.
#pragma once

#include <cstdint>

namespace sluice {

// Bytes of one value: the address space of a process on x86-64.
constexpr uint64_t kMaxValueBytes = uint64_t{1} << 47;

}  // namespace sluice
