// The sizes of the model's inputs as the command line sets them.
//
//   --input-shape "x:1,3,224,224;y:1~8,-1"  1~8 bounds the dim, -1 leaves it as in the model
//   --dim N=4                              fixes the named dim everywhere
//   --dim N=1..64                          bounds it
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/options.h"
#include "common/base/result.h"

namespace sluice {

struct DimRange {
  int64_t low = 0;
  int64_t high = INT64_MAX;
  bool is_fixed() const { return low == high; }
};

struct ShapeOptions {
  // By input name; an empty extent leaves the dim as in the model.
  std::map<std::string, std::vector<std::optional<DimRange>>> inputs;
  std::map<std::string, DimRange> dims;  // by dim name
};

Result<ShapeOptions> parse_shape_options(const Options& options);

}  // namespace sluice
