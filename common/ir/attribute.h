// Attributes of nodes: ONNX's kinds, with tensors as segments and bodies as graph ids.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "common/ir/type.h"

namespace sluice {

struct TypeRef {
  explicit TypeRef(TypeId id) : id(id) {}
  // Not trivial, so that AttributeValue is not one of the variants whose copies libstdc++ 12 takes
  // never to fail: those crash where memory runs out (_Never_valueless_alt).
  TypeRef(const TypeRef& other) noexcept : id(other.id) {}
  TypeRef& operator=(const TypeRef&) = default;
  TypeId id;
  auto operator<=>(const TypeRef&) const = default;
};
static_assert(!std::is_trivially_copyable_v<TypeRef>);
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

// What code reads attributes by: a name, and the value of a node without it. Those of ops are made
// from the op table (common/ops/attributes.h).
template <typename T>
struct AttributeName {
  using Value = T;
  std::string_view name;
};
struct IntAttribute : AttributeName<int64_t> {
  int64_t value = 0;
};
struct FloatAttribute : AttributeName<float> {
  float value = 0;
};
struct StringAttribute : AttributeName<std::string> {
  std::string_view value;
};
struct IntsAttribute : AttributeName<std::vector<int64_t>> {
  int64_t each = 0;  // an absent list stands for this number, once for each spatial dim
};
using FloatsAttribute = AttributeName<std::vector<float>>;
using StringsAttribute = AttributeName<std::vector<std::string>>;
using TypeAttribute = AttributeName<TypeRef>;
using TensorAttribute = AttributeName<SegmentRef>;
using BodyAttribute = AttributeName<GraphRef>;

}  // namespace sluice
