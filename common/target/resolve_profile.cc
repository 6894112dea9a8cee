#include "common/target/resolve_profile.h"

namespace sluice {

Result<DeviceProfile> resolve_profile(Options& options, Module& module) {
  SLUICE_ASSIGN(DeviceProfile profile, get_profile(options.text("profile")));
  if (options.text("profile") != "native") return profile;
  SLUICE_TRY(options.set("profile", profile.name));
  module.options["profile"] = profile.name;
  return profile;
}

Result<DeviceProfile> profile_of(const Module& module) {
  const auto name = module.options.find("profile");
  return get_profile(name == module.options.end() ? "native" : name->second);
}

}  // namespace sluice
