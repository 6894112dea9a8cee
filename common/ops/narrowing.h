// How Cast and its relatives convert floats that their target cannot represent.
#pragma once

#include <string>

#include "common/base/float_format.h"
#include "common/ir/graph.h"
#include "common/ops/attributes.h"

namespace sluice {

// Returns that of a Cast or CastLike.
inline Narrowing narrowing_of(const Node& node) {
  Narrowing narrowing;
  narrowing.saturate = node.get(attributes::CastLike::saturate) != 0;
  const std::string mode = node.get(attributes::CastLike::round_mode);
  if (mode == "down") narrowing.mode = Narrowing::Mode::kDown;
  if (mode == "nearest") narrowing.mode = Narrowing::Mode::kNearest;
  return narrowing;
}

}  // namespace sluice
