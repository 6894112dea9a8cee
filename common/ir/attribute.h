// Attributes of nodes: ONNX's kinds, with tensors as segments and bodies as graph ids.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "common/ir/type.h"

namespace sluice {

struct TypeRef {
  TypeId id = 0;
  auto operator<=>(const TypeRef&) const = default;
};
struct SegmentRef {
  SegmentId id = -1;
  auto operator<=>(const SegmentRef&) const = default;
};
struct GraphRef {
  GraphId id = -1;
  auto operator<=>(const GraphRef&) const = default;
};

// Floats are ONNX's 32-bit floats.
using AttributeValue =
    std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                 std::vector<std::string>, TypeRef, SegmentRef, GraphRef, std::vector<GraphRef>>;

struct Attribute {
  std::string name;
  AttributeValue value;
  bool operator==(const Attribute&) const = default;
};

}  // namespace sluice
