// Rewrites old forms of operators to their form at kCanonicalOpset. There is one row for each
// (operator, version that changed it).
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

inline constexpr int64_t kOldestOpset = 1;
inline constexpr int64_t kNewestOpset = 28;
// Below this version some adapters need the ranks of inputs, so types have to be inferred while
// importing.
inline constexpr int64_t kRanksNotNeeded = 13;

// A node just built from its ONNX form, last in its graph. Adapters change it in place, put nodes
// before it, or add nodes after it and name other values as its results.
struct UpgradeCall {
  Graph& graph;
  Node* node;
  std::vector<Value*> results;  // the values of the ONNX node's outputs, one each

  // Adds a node before or after this one, with one result.
  Value* add_before(Op op, const std::vector<Value*>& inputs);
  Value* add_behind(Op op, const std::vector<Value*>& inputs);
  Value* constant(std::vector<int64_t> elements);  // i64, rank 1
};

// Upgrades the node. opset: of ONNX's own operators, as the model or function imports it. Errors
// (kBadModel, kUnsupportedOp) name the node.
Result<void> upgrade_node(UpgradeCall& call, int64_t opset);

}  // namespace sluice
