// What a file of --pass is.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.h"

namespace sluice {

enum class PassKind : uint8_t {
  kProgram,  // an executable that filters graphs
  kPython,   // *.py
  kPlugin,   // *.so: a shared object (plugin.h)
};

// Errors: kNotFound; kBadOption for a file that is none of them.
Result<PassKind> pass_kind(const std::string& path);

}  // namespace sluice
