// The rule for names of engines, which profiles, graphs and compiled models share.
#pragma once

#include <cstddef>
#include <string_view>

namespace sluice {

constexpr size_t kMaxEngines = 200;  // distinct names that one process knows

bool is_engine_name(std::string_view name);
constexpr std::string_view kEngineNameRule = "1 to 64 characters of a-z, 0-9, _ and +";

}  // namespace sluice
