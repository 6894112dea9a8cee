// Finds and opens the files that contain the external weights of a model.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/descriptor.h"
#include "common/base/result.h"
#include "model.pb.h"

namespace sluice {

// Where to look. Without `given` the files are beside the model, as weights_place() says; where the
// model is a symbolic link, beside the link or else beside what it leads to.
struct WeightsPath {
  std::string model;  // path of the .om; "-" or empty: its bytes came without a path
  std::string given;  // a folder, or the file of combined weights itself; may be empty
};

// An open file: its bytes from `start` on are those of the region from `offset` on. They are the
// external weights from index `first` to before `end`.
struct WeightFile {
  const std::string& path;
  const Descriptor& file;
  uint64_t start = 0;   // a multiple of a page
  uint64_t offset = 0;  // a multiple of a page
  uint64_t bytes = 0;
  int first = 0, end = 0;
};

// Opens each file in turn, checks that it is a regular file of the right size and, of a file of
// combined weights, that it is this model's, and calls take(file). Reads no weights. The model's
// external weights were verified. Errors, each naming constant, digest and path: kMissingSegment
// when there is none, kBadCompiledModel when it is not what it should be; those of take.
Result<void> for_each_weight_file(const pb::ModelDef& model, const WeightsPath& path,
                                  const std::function<Result<void>(const WeightFile&)>& take);

}  // namespace sluice
