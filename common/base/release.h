// The release, as --version prints it and files contain it. CMakeLists.txt names the same one.
#pragma once

namespace sluice {

inline constexpr char kRelease[] = "0.1.0";

}  // namespace sluice
