// The points of the stages at which passes of users run (--pass POINT=FILE).
#pragma once

#include <string>
#include <string_view>

namespace sluice {

struct PassPoint {
  std::string_view name;   // "after-infer-shape"
  std::string_view stage;  // "preprocess"
  std::string_view pass;   // of the stage
  bool is_before = false;  // it is before that pass, otherwise behind it
  bool has_types = true;
};

// Returns the point of that name, or null.
const PassPoint* find_point(std::string_view name);
// Returns the names of those of a stage, of all if it is empty: "before-build, …".
std::string point_names(std::string_view stage = {});

}  // namespace sluice
