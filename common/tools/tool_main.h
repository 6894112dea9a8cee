// The common main function of the inspection tools: arguments, one error, exit code.
#pragma once

#include <string_view>

#include "common/base/command_line.h"
#include "common/base/result.h"
#include "common/tools/tool_files.h"

namespace sluice {

struct Tool {
  std::string_view name;  // "sluice-show"
  // Docopt text that has --help and --version and ends with options; those of all tools are added.
  const char* usage;
  // Returns the exit code when there is no error: 0, or 7 when the answer to the tool's question is
  // no.
  Result<ExitClass> (*run)(const CommandLine& line);
  // Another program reads the output: failing into a pipe writes a failure header.
  bool writes_graph = false;
  const char* graph_option = nullptr;  // only with this option; null: as writes_graph says
};

int tool_main(int argc, char** argv, const Tool& tool);

}  // namespace sluice
