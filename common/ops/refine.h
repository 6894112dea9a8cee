// Types of one value from two sources: both hold (refine), or either may hold (generalize).
#pragma once

#include <optional>
#include <string>

#include "common/ir/module.h"

namespace sluice {

// "f32[N, 3, ?]", "f32 of unknown rank", "sequence(f32[3])", "unknown".
std::string type_text(const Module& module, const Type& type);

// The most specific type that both allow; nothing when they contradict. found: what inference says
// now; known: what the value has already.
std::optional<Type> refine(Module& module, const Type& known, const Type& found);

// The most specific type that allows both: dims that may differ become unknown. Nothing when kinds
// or dtypes differ.
std::optional<Type> generalize(Module& module, const Type& a, const Type& b);

}  // namespace sluice
