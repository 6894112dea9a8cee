// Values of outputs as lines for people.
#pragma once

#include <string>

#include "common/tensorfile/tensorfile.h"

namespace sluice {

// Least, greatest, the place of the greatest, mean; or what else can be said.
std::string summary_text(const Tensor& tensor);
// A line for each map: "scores.0: map of 3, 0: 0.25, 1: 0.5, 2: 0.25"; the first few of them.
std::string maps_text(const std::string& name, const FileValue& value);

}  // namespace sluice
