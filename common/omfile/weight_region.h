// The weights region of an opened model, which constants are read from.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/omfile/om_file.h"
#include "common/omfile/weight_files.h"

namespace sluice {

class WeightRegion {
 public:
  // Without external weights the region is the weights segment of the file, which outlives it.
  // Otherwise one range of addresses is reserved, and segment and files are mapped into it at their
  // offsets: constants stay where they are, in pages that all processes share. Errors of
  // for_each_weight_file; kLimit when memory cannot be mapped.
  static Result<WeightRegion> map(const OmFile& om, const WeightsPath& path);

  std::span<const std::byte> bytes() const { return bytes_; }

  // Hashes the external weights, all of their bytes. Returns kBadCompiledModel, which names
  // constant, digest and path, for the first that differs from its digest.
  Result<void> check_digests() const;

 private:
  Result<void> reserve(uint64_t bytes);
  Result<void> map_segment(const OmFile& om);
  Result<void> map_file(const WeightFile& file);

  std::shared_ptr<const pb::ModelDef> model_;
  std::shared_ptr<std::byte> memory_;  // null: the region is in the .om
  std::span<const std::byte> bytes_;
  std::vector<std::string> paths_;  // of the files, by index of the external weights
};

}  // namespace sluice
