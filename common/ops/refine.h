// Types of one value from two sources: both are valid (refine), or either may be (generalize).
#pragma once

#include <optional>
#include <string>

#include "common/ir/module.h"

namespace sluice {

// Returns "f32[N, 3, ?]", "f32 of unknown rank", "sequence(f32[3])" or "unknown".
std::string type_text(const Module& module, const Type& type);

// Returns the most specific type that both allow, or nothing when they contradict. found: the type
// that inference just computed; known: the existing type.
std::optional<Type> refine(Module& module, const Type& known, const Type& found);

// Returns the most specific type that allows both: dims that may differ become unknown. Returns
// nothing when kinds or dtypes differ.
std::optional<Type> generalize(Module& module, const Type& a, const Type& b);

}  // namespace sluice
