// The dims that a model leaves open, and what a user has to type to fix them.
#pragma once

#include <string>
#include <vector>

#include "common/ir/module.h"

namespace sluice {

// The symbols that are dims of the root graph's inputs, in the order of these.
std::vector<SymbolId> open_symbols(const Module& module);

// The inputs whose shape is not known at all.
std::vector<const Value*> unranked_inputs(const Module& module);

// The options that fix the open dims of inputs, names quoted for a shell where they need it, sizes
// left open since none was tried:
// "--dim batch=SIZE --dim seq=SIZE". Empty when there are none.
std::string open_dims_hint(const Module& module);

// The same with a shape for each input without rank: "--input-shape x:SIZES".
std::string dynamic_dims_hint(const Module& module);

}  // namespace sluice
