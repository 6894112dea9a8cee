#include "common/rules/places.h"

#include <algorithm>

#include "common/base/pass_names.h"

namespace sluice::rules {
namespace {

constexpr RulePlace kPlaces[] = {
    {"before-infer-shape", "preprocess", "normalize-zipmap", false},
    {"after-infer-shape", "preprocess", "resolve-shapes"},
    // Nothing is in a body of a Fused node yet, and no Cast hides one node from another.
    {"after-builtin-fusion", "optimize", "fuse-mish"},
    {"after-optimize", "optimize", "store-pieces"},
};

// The passes before types are inferred.
constexpr std::string_view kUntyped[] = {"select-outputs", "normalize-zipmap"};

const RulePlace& place_of(const RuleFile& file) {
  return *find_place(file.at.empty() ? kDefaultPlace : file.at);
}

}  // namespace

const RulePlace* find_place(std::string_view name) {
  const auto* found = std::ranges::find(kPlaces, name, &RulePlace::name);
  return found == std::end(kPlaces) ? nullptr : found;
}

std::string place_names() {
  std::string names;
  for (const RulePlace& place : kPlaces)
    names += (names.empty() ? "" : ", ") + std::string(place.name);
  return names;
}

bool is_place_of_rules(std::string_view pass) {
  const PassName* found = find_pass_name(pass);
  return found != nullptr && (found->stage == "preprocess" || found->stage == "optimize");
}

std::string_view pass_before(const RuleFile& file) {
  return file.after.empty() ? place_of(file).pass : std::string_view(file.after);
}

std::string_view stage_of(const RuleFile& file) {
  if (file.after.empty()) return place_of(file).stage;
  return find_pass_name(file.after)->stage;
}

bool has_types(const RuleFile& file) {
  if (file.after.empty()) return place_of(file).has_types;
  return std::ranges::find(kUntyped, file.after) == std::end(kUntyped);
}

}  // namespace sluice::rules
