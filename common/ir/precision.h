// The dtype that a user asks a node to compute in.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

// kKeep: that of the model.
enum class Precision : uint8_t { kNone = 0, kKeep = 1, kF32 = 2, kF16 = 3, kBF16 = 4 };

std::string_view precision_name(Precision precision);  // "keep", "f32", …; kNone: "none"
// Returns nothing for another text than those of a user: "keep", "f32", "f16" and "bf16".
std::optional<Precision> precision_from_name(std::string_view name);

}  // namespace sluice
