// A forecast of the compilation of a partitioned graph before any code is generated: the engine of
// each node, its share of the work, the memory, and the values without fixed sizes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/json.h"
#include "common/ir/module.h"

namespace sluice {

struct EngineShare {
  size_t nodes = 0;
  uint64_t multiply_adds = 0;  // per run
};

struct HostNode {
  std::string name;  // ONNX's, or that of its first result with a name
  std::string op;
  std::string
      reason;  // why it is not on another engine; empty where an annotation or the profile says so
  uint64_t multiply_adds = 0;
};

// The known bounds of an open dim of the inputs; nodes may require more.
struct DimBounds {
  std::string name;
  int64_t low = 1;
  int64_t high = INT64_MAX;  // no bound
  int64_t divisor = 1;
  int64_t nominal = 1;  // the size that figures are for
};

struct ModelCheck {
  std::vector<std::string> inputs, outputs;  // "x: f32[1, 3, 224, 224]"
  // Shares by engine name; nodes that only view a value in another shape are excluded.
  std::map<std::string, EngineShare> engines;
  // Nodes with the most multiply-adds first, then in list order.
  std::vector<HostNode> host_nodes;
  uint64_t multiply_adds = 0;  // of all engines
  // Nodes whose work is not counted above: control flow, recurrences, attention, ….
  size_t uncounted = 0;
  uint64_t weight_bytes = 0;  // of distinct constants
  // An estimate: the maximum bytes of results alive at once, in list order.
  uint64_t arena_bytes = 0;
  // Some sizes are not numbers: the figures above are for nominal ones (common/symbolic/nominal.h).
  bool is_symbolic = false;
  size_t walked = 0;  // nodes of dynamic parts, run one by one
  // Nodes of these with results whose bytes are unknown; the figures above exclude them.
  size_t unsized = 0;
  std::vector<DimBounds> open_dims;   // of inputs
  std::vector<std::string> unranked;  // inputs whose shape must be given
  // The options that would fix the open dims, "--dim batch=1". Empty: no dim is open, or no tried
  // sizes work.
  std::string fixing_options;
  // The error of the first sizes tried, when all failed.
  std::string fixing_failure;
  size_t fixing_tries = 0;  // 0: none was tried, and SIZE is a placeholder
};

// Checks a model. Errors: kWrongLevel unless the graph is partitioned.
Result<ModelCheck> check_model(const Module& module);

// Returns a name as text of one line: names may contain any bytes.
std::string printable(const std::string& name);

std::string check_text(const ModelCheck& check);
Json check_json(const ModelCheck& check);

}  // namespace sluice
