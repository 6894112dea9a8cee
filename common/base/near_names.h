// Proposals for a name that was mistyped.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// Returns the names, at most three, that differ from the typed one in a third of their characters
// or fewer, the nearest first.
std::vector<std::string_view> near_names(std::string_view typed,
                                         std::span<const std::string_view> names);

// Returns "did you mean 'a' or 'b'?"; where nothing is near, the other hint.
std::string near_names_hint(std::string_view typed, std::span<const std::string_view> names,
                            std::string_view otherwise);

}  // namespace sluice
