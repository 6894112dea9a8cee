// The op table: the inputs, outputs and attributes of each op of the IR, in one file per operator
// family. The semantics are those of ONNX at opset kCanonicalOpset, and of the domain "sluice".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

inline constexpr int kCanonicalOpset = 23;

enum class AttributeKind : uint8_t {
  kInt,
  kFloat,
  kString,
  kInts,
  kFloats,
  kStrings,
  kType,
  kSegment,
  kGraph,
  kGraphs
};

struct AttributeRow {
  std::string_view name;
  AttributeKind kind;
  bool required = false;
  // For a string: its allowed values, separated by blanks; empty allows any.
  std::string_view words = {};
  // The value of a node without it: of an int, a float, or each of ints; of a string.
  double number = 0;
  std::string_view text = {};
};

enum OpFlag : uint32_t {
  // Output element i depends only on input elements i (with broadcasting).
  kElementwise = 1 << 0,
  kCommutative = 1 << 1,    // of its first two inputs
  kRandom = 1 << 2,         // equal nodes may return different results: never folded, never merged
  kDataDependent = 1 << 3,  // some output's shape depends on an input's value
  kControlFlow = 1 << 4,    // has bodies
  // Output 0 is input 0's bytes under another shape (Reshape, Squeeze, Unsqueeze, Flatten,
  // Identity).
  kView = 1 << 5,
  // Takes or returns sequences, optionals or maps; every other op takes and returns only tensors.
  kAnyKind = 1 << 6,
  // Any input may be absent; for other ops the first min_inputs must be present.
  kAbsentInputs = 1 << 7,
};

class InferCall;  // common/ops/infer_call.h

struct OpRow {
  Op op;
  int min_inputs;
  int max_inputs;  // -1: any number
  int min_outputs;
  int max_outputs;  // -1: any number
  uint32_t flags;
  std::span<const AttributeRow> attributes;
  Result<void> (*infer)(InferCall& call);
};

// Returns null when the op is not in this release's table.
const OpRow* find_op(Op op);
// Returns the value of an attribute, or that of a node without it; nothing where there is none.
std::optional<AttributeValue> attribute_or_default(const Node& node, std::string_view name);
// Checks the number of inputs and outputs, attribute names, kinds and words against the table; one
// error (kBadNode) reports all violations.
Result<void> check_signature(const Node& node);

}  // namespace sluice
