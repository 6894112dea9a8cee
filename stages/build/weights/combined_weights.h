// The file of --external-weight=2, which has all constants, each at a multiple of 4096, and its
// index. The index is for people and scripts; the loader reads only the compiled model.
#pragma once

#include <optional>
#include <span>

#include "common/base/digest.h"
#include "common/base/files.h"
#include "common/base/json.h"
#include "common/base/weights_place.h"
#include "model.pb.h"

namespace sluice {

class CombinedWeights {
 public:
  // Begins the file for constants of so many bytes, which gets its name in commit().
  static Result<CombinedWeights> create(const WeightsPlace& place, uint64_t bytes);

  Result<void> begin();  // the next constant
  Result<void> add(std::span<const std::byte> bytes);
  // Ends the file: model has the digests of all constants.
  Result<void> finish(const pb::ModelDef& model);
  Result<void> commit();

 private:
  CombinedWeights(WeightsPlace place, FileWriter file, FileWriter index)
      : place_(std::move(place)), file_(std::move(file)), index_(std::move(index)) {}
  Result<void> write_index(const pb::ModelDef& model);

  WeightsPlace place_;
  FileWriter file_, index_;
};

}  // namespace sluice
