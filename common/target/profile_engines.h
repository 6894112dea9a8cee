// Contradictions among the engines of a device profile.
#pragma once

#include <string>

#include "common/target/profile.h"

namespace sluice {

// Returns the first contradiction with its key, its value and what was expected; empty if there is
// none.
std::string engines_fault(const DeviceProfile& profile);

}  // namespace sluice
