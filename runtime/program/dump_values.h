// Writes the values of a run to files, under their ONNX names and in logical axis order.
#pragma once

#include <string>
#include <vector>

#include "common/base/tensor.h"
#include "common/omfile/om_names.h"
#include "common/tensorfile/value_folder.h"
#include "runtime/executor/run.h"
#include "runtime/program/bindings.h"

namespace sluice {

class ValueDump {
 public:
  // Values whose names fit glob (fnmatch(3): *, ?, [..]) go to folder/NAME.npy; a name that occurs
  // again gets "~2", "~3", ….
  ValueDump(const Run& run, ValueFolder& folder, std::string glob);
  // Returns kBadOption when no input and no value that a run makes fits the glob.
  Result<void> check(const std::vector<NamedValue>& inputs) const;
  // Writes the values that a task made, and the views that are complete after it. Errors of
  // writing.
  Result<void> after_task(uint32_t task);
  size_t written() const { return written_; }  // files

 private:
  bool is_wanted(uint32_t value) const;
  std::vector<uint32_t> values_of(uint32_t task) const;
  Result<void> write(uint32_t value);

  const Run& run_;
  const ValueNames names_;
  ValueFolder& folder_;
  std::string glob_;
  size_t written_ = 0;
  std::vector<std::vector<uint32_t>> aliases_;  // values by the task after which they are complete
};

// Returns whether a value is written: its name fits, and it is no tensor of strings, which .npy
// cannot store.
bool is_dumped(const std::string& glob, const std::string& name, DType dtype);
// Writes the tensors of inputs whose names fit the glob.
Result<void> dump_inputs(const std::vector<NamedValue>& inputs, const std::string& glob,
                         ValueFolder& folder);

// Lists the values whose names fit the glob and that exist only while a kernel computes, each with
// "fused into" and the node.
void mention_fused(const pb::ModelDef& model, const std::string& glob, ValueFolder& folder);
// Returns kBadOption for a glob that no value of a run fits. It says so of values that are fused;
// without any it has the hint.
Error no_value_fits(const pb::ModelDef& model, const std::string& glob, const std::string& hint);

// Returns the elements of a value as its type says, dense and row-major, converted from its
// storage; without a name.
Tensor logical_tensor(const Run& run, int value);

}  // namespace sluice
