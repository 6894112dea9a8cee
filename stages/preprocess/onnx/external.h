// Locates the external data of a model.
#pragma once

#include <string>

#include "common/base/result.h"
#include "stages/preprocess/onnx/model_file.h"

namespace sluice {

// Returns the real path of the file that `location`, as an ONNX tensor writes it, names: relative
// to the model's folder, and inside it or inside the folder of the model's real path once symbolic
// links are followed (download caches link both a model and its data into one folder). Every file
// inside `external_dir`, when it is not empty, is allowed too, by any path. Returns kBadModel for a
// path that leads outside, kMissingSegment for what is not a regular file, kNotFound.
Result<std::string> find_external_file(const ModelFile& model, const std::string& location,
                                       const std::string& external_dir);

}  // namespace sluice
