// Job arrays of Slurm: what submits, asks and cancels them, by Slurm's own programs. They are run
// to their end also while this program is being interrupted: what sbatch has submitted is then
// known, and can be cancelled. Errors of all: kProgramMissing, and kIo for a program that fails.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"

namespace sluice {

struct SlurmArray {
  std::string name;
  std::string script;  // that each task runs
  std::string log;     // file that a task prints to, in sbatch's form: %A is the array, %a the task
  size_t first = 0, last = 0;             // tasks
  bool is_requeued = false;               // after the loss of its machine
  std::vector<std::string> options = {};  // more words for sbatch
};

// Returns the number of the array.
Result<std::string> submit_array(const SlurmArray& array);

struct SlurmTask {
  std::string id;     // "17_4"
  std::string state;  // "PENDING", "RUNNING", ...
};

// Returns the tasks in the queue of the arrays of this name, or of this number.
Result<std::vector<SlurmTask>> tasks_by_name(const std::string& name);
Result<std::vector<SlurmTask>> tasks_of_array(const std::string& array);

// Cancels arrays or tasks.
Result<void> cancel_tasks(const std::vector<std::string>& ids);

}  // namespace sluice
