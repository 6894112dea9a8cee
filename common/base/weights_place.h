// Where the weights lie that are in files beside a compiled model (--external-weight):
//
//   DIR/model.om
//   DIR/weight/weight_<SHA-256>               one constant each, shared by the models of the folder
//   DIR/weight/model_weight_combined          or one file with all of a model's
//   DIR/weight/model_weight.json              what is where in that, for people and scripts
//
// The files are named by digests and after the model, so a compiled model contains no path.
#pragma once

#include <string>

#include "common/base/digest.h"
#include "common/base/result.h"

namespace sluice {

struct WeightsPlace {
  std::string folder;  // "DIR/weight"
  std::string name;    // "model"

  std::string shared_file(const Digest& digest) const;
  std::string combined_file() const;
  std::string index_file() const;
};

// Returns the place for the compiled model at `path`.
WeightsPlace weights_place(const std::string& path);

// Returns kUsage when a compiled model that is written to `path` would have no folder: standard
// output, a device, a pipe, an open file of a process.
Result<void> check_has_weights_place(const std::string& path);

}  // namespace sluice
