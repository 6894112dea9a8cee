// The files of --external-weight=1: one for each constant, named by its digest.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/digest.h"
#include "common/base/result.h"
#include "common/base/temporary_file.h"
#include "common/base/weights_place.h"

namespace sluice {

class SharedWeights {
 public:
  explicit SharedWeights(WeightsPlace place) : place_(std::move(place)) {}
  SharedWeights(const SharedWeights&) = delete;
  // Removes the files that were made, unless keep() was called or another build uses them by now.
  ~SharedWeights();
  void keep() { made_.clear(); }

  // Appends to the constant that is being written.
  Result<void> add(std::span<const std::byte> bytes);
  // Ends the constant. A file of that digest which contains the same bytes stays; a damaged one is
  // replaced.
  Result<void> end(const Digest& digest);

 private:
  struct Made {
    std::string path;
    int64_t changed_ns = 0;
  };

  const WeightsPlace place_;
  std::optional<TemporaryFile> file_;
  uint64_t bytes_ = 0;
  std::vector<Made> made_;
};

}  // namespace sluice
