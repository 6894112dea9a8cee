// The input and output of an inspection tool: <in> and -o of its command line.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/base/command_line.h"
#include "common/base/result.h"

namespace sluice {

// Writes text to -o; "-" or absent: standard output. Bytes are not written to a terminal.
Result<void> write_tool_text(const CommandLine& line, std::string_view text);
Result<void> check_binary_output(const CommandLine& line);
// Returns <in>, "-" when absent; check_input rejects a terminal.
std::string input_path(const CommandLine& line);
Result<void> check_input(const CommandLine& line);
std::string output_path(const CommandLine& line);

// A whole file, mapped, or standard input, read.
struct InputBytes {
  static Result<InputBytes> open(const std::string& path);
  // Adds the name of the input to an error in its content.
  template <typename T>
  Result<T> checked(Result<T> result) const {
    if (!result && result.error().file.empty()) result.error().file = name;
    return result;
  }

  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  std::string name;
};

}  // namespace sluice
