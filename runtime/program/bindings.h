// Inputs from files or random numbers, outputs to files.
#pragma once

#include <vector>

#include "common/base/tensor.h"
#include "runtime/executor/run.h"
#include "runtime/program/loader_options.h"

namespace sluice {

// Zeros of a binding's type, under its name.
Result<Tensor> make_binding_tensor(const pb::ModelDef& model, const pb::BindingDef& binding);

// One tensor per input of the model, from --input and --random, of exactly the model's types. Errors: kBadBinding for what is missing,
// unknown, given twice or of another type; kBadTensorFile and others from files.
Result<std::vector<Tensor>> read_inputs(const pb::ModelDef& model, const LoaderOptions& options);

Result<void> write_outputs(const std::vector<Tensor>& outputs, const LoaderOptions& options);
// One line per output: name, type, least, greatest, mean, and the place of the greatest.
std::string outputs_text(const std::vector<Tensor>& outputs);

}  // namespace sluice
