// The profile "native" is resolved once, by the first stage that reads a profile: no later program
// looks at its CPU, and the product is that of the profile's own name.
#pragma once

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/target/profile.h"

namespace sluice {

// Returns the profile of the options. Replaces "native", there and among the options of the module,
// by the name of the profile that this machine has. Errors: those of get_profile.
Result<DeviceProfile> resolve_profile(Options& options, Module& module);

// Returns the profile that a file was made for, by its options. Errors: those of get_profile.
Result<DeviceProfile> profile_of(const Module& module);

}  // namespace sluice
