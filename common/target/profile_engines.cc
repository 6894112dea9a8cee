#include "common/target/profile_engines.h"

#include <algorithm>
#include <set>

#include "common/base/engine_name.h"

namespace sluice {
namespace {

constexpr size_t kMinMembers = 2;

using Names = std::set<std::string_view>;

bool names_several(std::string_view name) { return name.find('+') != std::string_view::npos; }

// Adds a name to those of one list.
std::string name_fault(std::string_view key, std::string_view name, Names& listed) {
  if (!is_engine_name(name))
    return fmt::format("{}: '{}' is no engine's name, expected {}", key, name, kEngineNameRule);
  if (name == "none")
    return fmt::format("{}: 'none' stands for no engine, expected another name", key);
  if (listed.insert(name).second) return {};
  return fmt::format("{}: '{}' is there twice, expected once", key, name);
}

std::string single_fault(std::string_view key, std::string_view name, Names& listed) {
  if (std::string fault = name_fault(key, name, listed); !fault.empty()) return fault;
  if (!names_several(name)) return {};
  return fmt::format("{}: '{}' is named as several engines, expected a name without +", key, name);
}

std::string members_fault(const CompositeEngine& composite, const Names& engines) {
  Names members;
  for (const std::string& member : composite.members) {
    if (std::string fault = name_fault("members", member, members); !fault.empty()) return fault;
    if (names_several(member))
      return fmt::format("members: '{}' is a composite itself, expected single engines", member);
    if (engines.contains(member)) continue;
    return fmt::format("members: '{}' is unknown, expected names from engines or described_engines",
                       member);
  }
  if (members.size() >= kMinMembers) return {};
  return fmt::format("members: there are {}, expected at least {}", members.size(), kMinMembers);
}

std::string composite_fault(const CompositeEngine& composite, const Names& engines, Names& listed) {
  const std::string_view name = composite.name;
  if (std::string fault = name_fault("composites", name, listed); !fault.empty()) return fault;
  if (!names_several(name)) {
    return fmt::format(
        "composites: '{}' is named as one engine, expected several, like 'aicore+vector'", name);
  }
  const std::string fault = members_fault(composite, engines);
  return fault.empty() ? fault : fmt::format("composites: '{}': {}", name, fault);
}

std::string count_fault(const DeviceProfile& profile) {
  const size_t count =
      profile.engines.size() + profile.described_engines.size() + profile.composites.size();
  if (count <= kMaxEngines) return {};
  return fmt::format(
      "engines, described_engines and composites name {} engines, expected at most {}", count,
      kMaxEngines);
}

}  // namespace

std::string engines_fault(const DeviceProfile& profile) {
  if (std::string fault = count_fault(profile); !fault.empty()) return fault;
  Names engines, described, composites;
  for (const std::string& name : profile.engines) {
    if (std::string fault = single_fault("engines", name, engines); !fault.empty()) return fault;
  }
  for (const DescribedEngine& engine : profile.described_engines) {
    std::string fault = single_fault("described_engines", engine.name, described);
    if (!fault.empty()) return fault;
    if (engines.insert(engine.name).second) continue;
    return fmt::format("described_engines: '{}' is in engines too, expected in one of the two",
                       engine.name);
  }
  for (const CompositeEngine& composite : profile.composites) {
    std::string fault = composite_fault(composite, engines, composites);
    if (!fault.empty()) return fault;
  }
  return {};
}

}  // namespace sluice
