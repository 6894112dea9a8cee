// The dims that a model leaves open, and the options by which a user fixes them.
#pragma once

#include <string>
#include <vector>

#include "common/ir/module.h"

namespace sluice {

// Returns the symbols that are dims of the root graph's inputs, in the order of the inputs.
std::vector<SymbolId> open_symbols(const Module& module);

// Returns the inputs whose shape is not known at all.
std::vector<const Value*> unranked_inputs(const Module& module);

// Returns the options that fix the open dims of inputs, names quoted for a shell where needed, with
// a placeholder for each size: "--dim batch=SIZE --dim seq=SIZE". Empty when no dim is open.
std::string open_dims_hint(const Module& module);

// Returns the same with a shape for each input without rank: "--input-shape x:SIZES".
std::string dynamic_dims_hint(const Module& module);

}  // namespace sluice
