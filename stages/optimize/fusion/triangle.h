// Recognises the masks of causal attention: matrices of one number up to the diagonal and another
// one after it.
#pragma once

#include <map>
#include <optional>

#include "common/ir/graph.h"

namespace sluice {

// Element [row, column] is `lower` where column <= row, otherwise `upper`. Bools are 0 and 1.
struct Triangle {
  double lower = 0, upper = 0;
  bool operator==(const Triangle&) const = default;
};

class TriangleReader {
 public:
  // Reads constants, parts of them from the first element on, and what exporters compute of such.
  // The last two axes are rows and columns; along the others all elements are the same.
  std::optional<Triangle> read(const Value& value);

 private:
  std::optional<Triangle> read_at(const Value& value, int depth);
  std::optional<Triangle> read_constant(const Value& value);
  std::optional<Triangle> read_node(const Node& node, int depth);

  // By segment, so that the mask of all layers is read once.
  std::map<SegmentId, std::optional<Triangle>> constants_;
};

}  // namespace sluice
