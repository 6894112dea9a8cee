// The end of the programs of this folder: the one error on stderr, and the exit code.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/command_line.h"
#include "common/base/log.h"
#include "common/base/program.h"
#include "common/base/release.h"
#include "common/base/result.h"

namespace sluice {

inline void print_error(std::string_view program, const Error& error, bool json) {
  if (json) {
    std::fprintf(stderr, "%s\n", error_json(error).c_str());
  } else {
    log_line(program, "error", error_text(error));
  }
}

// Prints the answer to --help and --version and returns the exit code; nullopt when the program is
// to do its work.
inline std::optional<int> answer_request(const CommandLine& line, const std::string& program,
                                         std::string_view usage) {
  if (line.request() == CommandLine::Request::kHelp) return print_text(program, usage);
  if (line.request() == CommandLine::Request::kVersion)
    return print_text(program, fmt::format("{} {}\n", program, kRelease));
  return std::nullopt;
}

inline int exit_code_of(std::string_view program, const Result<int>& result, bool json = false) {
  if (result) return *result;
  print_error(program, result.error(), json);
  return static_cast<int>(exit_class(result.error().code));
}

}  // namespace sluice
