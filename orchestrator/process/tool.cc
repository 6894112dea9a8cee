#include "orchestrator/process/tool.h"

#include <algorithm>

#include "orchestrator/process/process.h"
#include "orchestrator/process/programs.h"

namespace sluice {

Result<ToolAnswer> run_tool(const std::vector<std::string>& arguments) {
  SLUICE_ASSIGN(const std::string program, find_program(arguments[0]));
  std::vector<std::string> command = arguments;
  command[0] = program;
  SLUICE_ASSIGN(const Descriptor out, make_memory_file());
  SLUICE_ASSIGN(const Descriptor errors, make_memory_file());
  SLUICE_ASSIGN(const pid_t child, start_shielded_process(command, {-1, out.get(), errors.get()}));
  const Ending ending = wait_for(child);
  return ToolAnswer{ending.clean() ? 0 : std::max(ending.code, 1), memory_file_text(out),
                    memory_file_text(errors)};
}

Error slurm_error(const std::string& tool, const ToolAnswer& answer) {
  return make_error(ErrorCode::kIo, "{} ended with exit code {}: {}", tool, answer.code,
                    answer.errors.substr(0, answer.errors.find('\n')))
      .with_hint("is Slurm running here? sinfo shows its nodes; docs/farm.md");
}

}  // namespace sluice
