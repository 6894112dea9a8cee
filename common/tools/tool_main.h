// What the mains of the inspection tools share: arguments, one error, exit code.
#pragma once

#include <string_view>

#include "common/base/command_line.h"
#include "common/base/result.h"
#include "common/tools/tool_files.h"

namespace sluice {

struct Tool {
  std::string_view name;  // "sluice-show"
  const char* usage;  // docopt; must know --help and --version and end with options; those of all
                      // tools are added
  // The exit code when nothing went wrong: 0, or 7 when the tool's question has the answer no.
  Result<ExitClass> (*run)(const CommandLine& line);
  bool writes_graph = false;  // for another program: a failure header when it fails into a pipe
};

int tool_main(int argc, char** argv, const Tool& tool);

}  // namespace sluice
