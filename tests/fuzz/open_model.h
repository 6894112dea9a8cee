// Models of one node whose dims are all open, which tests/fuzz/open_models.py makes, run through
// the C interface beside the evaluator.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/base/tensor.h"
#include "common/ir/module.h"
#include "runtime/api/sluice.h"

namespace sluice::fuzz {

// A model, and inputs that fit.
struct OpenModel {
  std::string name;
  sluice_model* compiled = nullptr;
  sluice_run* run = nullptr;  // one for all sizes, as programs use it
  Module graph;
  std::vector<Tensor> inputs;
};

// Opens the folder of a model. Prints what is wrong with it and exits 5 when it cannot be opened.
OpenModel open_model(const std::filesystem::path& folder);

// Returns the elements of a tensor over and over, in a tensor of these dims.
Tensor repeated(const Tensor& elements, std::vector<int64_t> dims);

// Runs the model. Returns what is wrong: what the evaluator refuses must be refused, what runs must
// give the shapes and the numbers of the evaluator; empty when all is right. Inputs for which the
// evaluator needs more than 512 MiB are not judged.
std::string fault_of(const OpenModel& model, const std::vector<Tensor>& inputs);

}  // namespace sluice::fuzz
