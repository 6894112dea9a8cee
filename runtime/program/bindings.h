// Reads inputs from files or random numbers, and writes outputs to files.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/tensorfile/tensorfile.h"
#include "model.pb.h"
#include "runtime/program/loader_options.h"

namespace sluice {

struct NamedValue {
  std::string name;
  FileValue value;
};

// Returns one value per input of the model, from --input and --random, each of the model's type.
// Errors: kBadBinding for an input that is missing, unknown, given twice or of another type;
// kBadTensorFile and others from files.
Result<std::vector<NamedValue>> read_inputs(const pb::ModelDef& model,
                                            const LoaderOptions& options);

// Writes each output to a file of its name; maps and sequences of them as .npz (tensorfile.h);
// sequences and optionals as .npy to one file for each element, NAME.0.npy.
Result<void> write_outputs(const std::vector<NamedValue>& outputs, const LoaderOptions& options);
// Returns one line per output: name, type, minimum, maximum, mean, and the place of the maximum.
std::string outputs_text(const std::vector<NamedValue>& outputs);

}  // namespace sluice
