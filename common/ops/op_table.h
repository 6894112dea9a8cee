// The op table: what each op of the IR takes and gives, one file per operator family. Meaning: ONNX
// at opset kCanonicalOpset, and the domain "sluice".
#pragma once

#include <cstdint>
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
  std::string_view words = {};  // of a string: those it may be, with blanks between; empty: any
};

enum OpFlag : uint32_t {
  kElementwise = 1 << 0,  // output element i depends on input elements i (with broadcasting) alone
  kCommutative = 1 << 1,  // of its first two inputs
  kRandom = 1 << 2,       // two equal nodes may give different results: never folded, never merged
  kDataDependent = 1 << 3,  // some output's shape depends on an input's value
  kControlFlow = 1 << 4,    // has bodies
  kView = 1 << 5,  // output 0 is input 0's bytes under another shape (Reshape, Squeeze, Unsqueeze,
                   // Flatten, Identity)
  kAnyKind = 1 << 6,  // takes or gives sequences, optionals or maps; every other op takes and gives
                      // tensors alone
  kAbsentInputs =
      1 << 7,  // any of its inputs may be absent; elsewhere the first min_inputs may not
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

// Null when the op is not in this release's table.
const OpRow* find_op(Op op);
// Number of inputs and outputs, attribute names, kinds and words against the table; everything
// wrong in one error (kBadNode).
Result<void> check_signature(const Node& node);

}  // namespace sluice
