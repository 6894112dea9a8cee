// The build id of a program: the linker's digest of its code, which distinguishes two builds of
// one release. It is in the keys of results, and in no file that a program writes.
#pragma once

#include <optional>
#include <string>

#include "common/base/result.h"

namespace sluice {

// Returns the build id of a program file, as hex digits (ELF note NT_GNU_BUILD_ID); of a file
// without one, the SHA-256 of its bytes. Errors: those of opening the file.
Result<std::string> build_id(const std::string& program);
// Returns that of the running program.
Result<std::string> own_build_id();

}  // namespace sluice
