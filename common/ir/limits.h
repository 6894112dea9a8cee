// Limits of what a graph may hold that no type can say.
#pragma once

#include <cstdint>

namespace sluice {

constexpr uint64_t kMaxValueBytes = uint64_t{1} << 47;  // of one value: what x86-64 gives a process

}  // namespace sluice
