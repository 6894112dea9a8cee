// The end of the programs of this folder: the one error on stderr, and the exit code.
#pragma once

#include <cstdio>
#include <string_view>

#include "common/base/log.h"
#include "common/base/result.h"

namespace sluice {

inline void print_error(std::string_view program, const Error& error, bool json) {
  if (json) {
    std::fprintf(stderr, "%s\n", error_json(error).c_str());
  } else {
    log_line(program, "error", error_text(error));
  }
}

inline int exit_code_of(std::string_view program, const Result<int>& result, bool json = false) {
  if (result) return *result;
  print_error(program, result.error(), json);
  return static_cast<int>(exit_class(result.error().code));
}

}  // namespace sluice
