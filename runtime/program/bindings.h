// Inputs from files or random numbers, outputs to files.
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

// One value per input of the model, from --input and --random, each of the model's type. Errors:
// kBadBinding for what is missing, unknown, given twice or of another type; kBadTensorFile and
// others from files.
Result<std::vector<NamedValue>> read_inputs(const pb::ModelDef& model,
                                            const LoaderOptions& options);

// Each to a file of its name; maps and sequences of them as .npz (tensorfile.h); sequences and
// optionals as .npy to one file for each element, NAME.0.npy.
Result<void> write_outputs(const std::vector<NamedValue>& outputs, const LoaderOptions& options);
// One line per output: name, type, least, greatest, mean, and the place of the greatest.
std::string outputs_text(const std::vector<NamedValue>& outputs);

}  // namespace sluice
