// Writes the values of a run to files, under their ONNX names and in logical axis order.
#pragma once

#include <string>
#include <vector>

#include "common/base/files.h"
#include "common/base/tensor.h"
#include "runtime/executor/run.h"
#include "runtime/loader/om_names.h"

namespace sluice {

class ValueDump {
 public:
  // Values whose names fit glob (fnmatch(3): *, ?, [..]) go to directory/NAME.npy; a name that occurs again gets "~2", "~3", ….
  ValueDump(const Run& run, std::string directory, std::string glob);
  // Writes what a task made, and the values that are views complete after it. Errors of writing.
  Result<void> after_task(uint32_t task);

 private:
  Result<void> write(uint32_t value);

  const Run& run_;
  const ValueNames names_;
  std::string directory_;
  std::string glob_;
  FileNames files_;
  std::vector<std::vector<uint32_t>> aliases_;  // values by the task after which they are complete
};

// The elements of a value as its type says, dense and row-major, taken out of its storage; without a name.
Tensor logical_tensor(const Run& run, int value);

}  // namespace sluice
