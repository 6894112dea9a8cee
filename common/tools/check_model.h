// What a compile of a partitioned graph will be, told before any code is generated: which engine
// runs what, how much of the work that is, how much memory it takes, and what has no fixed sizes.
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
  std::string name;  // ONNX's, else that of its first result
  std::string op;
  uint64_t multiply_adds = 0;
};

// What inputs may be as far as is known: nodes may need more.
struct DimBounds {
  std::string name;
  int64_t low = 1;
  int64_t high = INT64_MAX;  // no bound
  int64_t divisor = 1;
};

struct ModelCheck {
  std::vector<std::string> inputs, outputs;  // "x: f32[1, 3, 224, 224]"
  std::map<std::string, EngineShare>
      engines;  // by name; nodes that only look at a value in another shape are left out
  std::vector<HostNode> host_nodes;  // those with the most multiply-adds first, then in list order
  uint64_t multiply_adds = 0;        // of all engines
  size_t uncounted =
      0;  // nodes whose work is not in these: control flow, recurrences, attention, …
  uint64_t weight_bytes = 0;  // of distinct constants
  uint64_t arena_bytes = 0;   // an estimate: the most bytes of results alive at once, in list order
  bool is_symbolic = false;   // some sizes are no numbers: the figures above are for nominal ones
                              // (common/symbolic/nominal.h)
  size_t walked = 0;          // nodes of dynamic parts, run one by one
  size_t unsized =
      0;  // those of them with results of unknown dims; the figures above leave them out
  std::vector<DimBounds> open_dims;   // of inputs
  std::vector<std::string> unranked;  // inputs whose shape must be given
  std::string fixing_options;  // "--dim batch=1": what would fix the open dims. Empty: none is, or
                               // no sizes that were tried will do
  std::string fixing_failure;  // what the first sizes that were tried failed with, when all did
  size_t fixing_tries = 0;     // 0: none was tried, and SIZE stands for the sizes
};

// Errors: kWrongLevel unless the graph is partitioned.
Result<ModelCheck> check_model(const Module& module);

// A name for text of one line: names may hold any bytes.
std::string printable(const std::string& name);

std::string check_text(const ModelCheck& check);
Json check_json(const ModelCheck& check);

}  // namespace sluice
