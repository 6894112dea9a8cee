// The dims that a model leaves open, and what a user has to type to fix them.
#pragma once

#include <string>
#include <vector>

#include "common/ir/module.h"

namespace sluice {

// The symbols that are dims of the root graph's inputs, in the order of these.
std::vector<SymbolId> open_symbols(const Module& module);

// Empty when every input of the root graph has a fixed type. Else the options to add, names quoted for a shell where they need it, sizes
// left open since none was tried: "--dim batch=SIZE --dim seq=SIZE". An input without rank gives "--input-shape 'x:...'".
std::string unfixed_dims_hint(const Module& module);

}  // namespace sluice
