#include "orchestrator/process/slurm.h"

#include <algorithm>

#include "orchestrator/process/process.h"
#include "orchestrator/process/programs.h"

namespace sluice {
namespace {

struct Answer {
  int code = 0;
  std::string out, errors;
};

Result<Answer> run_tool(const std::vector<std::string>& arguments) {
  SLUICE_ASSIGN(const std::string program, find_program(arguments[0]));
  std::vector<std::string> command = arguments;
  command[0] = program;
  SLUICE_ASSIGN(const Descriptor out, make_memory_file());
  SLUICE_ASSIGN(const Descriptor errors, make_memory_file());
  SLUICE_ASSIGN(const pid_t child, start_shielded_process(command, {-1, out.get(), errors.get()}));
  const Ending ending = wait_for(child);
  return Answer{ending.clean() ? 0 : std::max(ending.code, 1), memory_file_text(out),
                memory_file_text(errors)};
}

Error failed(const std::string& tool, const Answer& answer) {
  return make_error(ErrorCode::kIo, "{} ended with exit code {}: {}", tool, answer.code,
                    answer.errors.substr(0, answer.errors.find('\n')))
      .with_hint("is Slurm running here? sinfo shows its nodes; docs/farm.md");
}

Result<std::vector<SlurmTask>> tasks(const std::string& selection) {
  SLUICE_ASSIGN(const Answer answer,
                run_tool({"squeue", "--noheader", "--array", selection, "--format=%i %T"}));
  // squeue does not know an array that ended some minutes ago.
  if (answer.errors.find("Invalid job id") != std::string::npos) return std::vector<SlurmTask>();
  if (answer.code != 0) return failed("squeue", answer);
  std::vector<SlurmTask> found;
  for (size_t begin = 0, end = 0; begin < answer.out.size(); begin = end + 1) {
    end = std::min(answer.out.find('\n', begin), answer.out.size());
    const std::string line = answer.out.substr(begin, end - begin);
    const size_t blank = line.find(' ');
    if (blank != std::string::npos)
      found.push_back({line.substr(0, blank), line.substr(blank + 1)});
  }
  return found;
}

}  // namespace

Result<std::string> submit_array(const SlurmArray& array) {
  std::vector<std::string> command = {"sbatch",
                                      "--parsable",
                                      array.is_requeued ? "--requeue" : "--no-requeue",
                                      "--job-name=" + array.name,
                                      fmt::format("--array={}-{}", array.first, array.last),
                                      "--output=" + array.log};
  command.insert(command.end(), array.options.begin(), array.options.end());
  command.push_back(array.script);
  SLUICE_ASSIGN(const Answer answer, run_tool(command));
  if (answer.code != 0) return failed("sbatch", answer);
  return answer.out.substr(0, answer.out.find_first_of(";\n"));
}

Result<std::vector<SlurmTask>> tasks_by_name(const std::string& name) {
  return tasks("--name=" + name);
}

Result<std::vector<SlurmTask>> tasks_of_array(const std::string& array) {
  return tasks("--jobs=" + array);
}

Result<void> cancel_tasks(const std::vector<std::string>& ids) {
  std::vector<std::string> command = {"scancel"};
  command.insert(command.end(), ids.begin(), ids.end());
  SLUICE_ASSIGN(const Answer answer, run_tool(command));
  return answer.code == 0 ? Result<void>() : failed("scancel", answer);
}

}  // namespace sluice
