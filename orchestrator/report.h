// How the programs of this folder end: the one error on stderr, and the exit code.
#pragma once

#include <string_view>

#include "common/base/log.h"
#include "common/base/result.h"

namespace sluice {

inline int exit_code_of(std::string_view program, const Result<int>& result) {
  if (result) return *result;
  log_line(program, "error", error_text(result.error()));
  return static_cast<int>(exit_class(result.error().code));
}

}  // namespace sluice
