// Where the external data of a model may lie.
#pragma once

#include <string>

#include "common/base/result.h"
#include "stages/preprocess/onnx/model_file.h"

namespace sluice {

// The real path of the file that `location`, as an ONNX tensor writes it, names: relative to the
// model's folder, and inside it or inside the folder of the model's real path once symbolic links
// are followed (download caches link both a model and its data into one folder). Everything inside
// `external_dir`, when it is not empty, is allowed too, by whatever path. Errors: kBadModel for a
// path that leaves, kMissingSegment for what is no regular file, kNotFound.
Result<std::string> find_external_file(const ModelFile& model, const std::string& location,
                                       const std::string& external_dir);

}  // namespace sluice
