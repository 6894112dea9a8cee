// What the mains of the inspection tools share: arguments, one error, exit code, where text and bytes may go.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/base/command_line.h"
#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

struct Tool {
  std::string_view name;  // "sluice-show"
  const char* usage;      // docopt; must know --help, --version and --error-format=FMT
  // The exit code when nothing went wrong: 0, or 7 when the tool's question has the answer no.
  Result<ExitClass> (*run)(const CommandLine& line);
  bool writes_graph = false;  // for another program: a failure header when it fails into a pipe
};

int tool_main(int argc, char** argv, const Tool& tool);

// "-" or absent: standard output. Bytes are kept from a terminal.
Result<void> write_tool_text(const CommandLine& line, std::string_view text);
Result<void> check_binary_output(const CommandLine& line);
std::string input_path(const CommandLine& line);  // <in>, "-" when absent; a terminal is refused by check_input
Result<void> check_input(const CommandLine& line);
std::string output_path(const CommandLine& line);

// A whole file, mapped, or standard input, read.
struct InputBytes {
  static Result<InputBytes> open(const std::string& path);
  // An error in what it holds names it.
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
