// The release, as --version prints it and files carry it.
#pragma once

#include <string_view>

namespace sluice {

inline constexpr std::string_view kVersion = "sluice 0.1.0, schema 1";

}  // namespace sluice
