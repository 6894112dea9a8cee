// What a user has to type to fix the dims that a model leaves open.
#pragma once

#include <string>

#include "common/ir/module.h"

namespace sluice {

// Empty when every input of the root graph has a fixed type. Else the options to add, ready to be copied: "--dim batch=1 --dim seq=32",
// each with the smallest size that the dim allows, names quoted for a shell where they need it. An input without rank gives
// "--input-shape 'x:...'", for which nothing better is known.
std::string unfixed_dims_hint(const Module& module);

}  // namespace sluice
