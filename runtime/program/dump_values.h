// Writes the values of a run to files, under their ONNX names and in logical axis order.
#pragma once

#include <string>
#include <vector>

#include "common/base/tensor.h"
#include "common/tensorfile/value_folder.h"
#include "runtime/executor/run.h"
#include "runtime/loader/om_names.h"

namespace sluice {

class ValueDump {
 public:
  // Values whose names fit glob (fnmatch(3): *, ?, [..]) go to folder/NAME.npy; a name that occurs again gets "~2", "~3", ….
  ValueDump(const Run& run, ValueFolder folder, std::string glob);
  // kBadOption when no input and no value that a run makes fits the glob.
  Result<void> check(const std::vector<Tensor>& inputs) const;
  Result<void> write_inputs(const std::vector<Tensor>& inputs);
  // Writes what a task made, and the values that are views complete after it. Errors of writing.
  Result<void> after_task(uint32_t task);
  Result<void> finish() { return folder_.finish(); }

 private:
  bool is_wanted(const std::string& name) const;
  bool is_wanted(uint32_t value) const;
  std::vector<uint32_t> values_of(uint32_t task) const;
  Result<void> write(uint32_t value);

  const Run& run_;
  const ValueNames names_;
  ValueFolder folder_;
  std::string glob_;
  std::vector<std::vector<uint32_t>> aliases_;  // values by the task after which they are complete
};

// The elements of a value as its type says, dense and row-major, taken out of its storage; without a name.
Tensor logical_tensor(const Run& run, int value);

}  // namespace sluice
