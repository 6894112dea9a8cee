// Formats the values of outputs as lines for people.
#pragma once

#include <string>

#include "common/tensorfile/tensorfile.h"

namespace sluice {

// Returns minimum, maximum, the place of the maximum, and mean; or another description where these
// do not exist.
std::string summary_text(const Tensor& tensor);
// Returns a line for each map: "scores.0: map of 3, 0: 0.25, 1: 0.5, 2: 0.25"; only the first few
// maps.
std::string maps_text(const std::string& name, const FileValue& value);

}  // namespace sluice
