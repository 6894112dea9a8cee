// The engine table: the engines of a device, the nodes that each supports, and the costs. Only
// engines that this release can lower have a row of their own; others exist where a profile file
// describes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/ir/graph.h"
#include "common/target/profile.h"

namespace sluice {

struct EngineRow {
  EngineId id = EngineId::kNone;
  int cost = 0;  // the placer tries engines in ascending order
  // Returns the reason why the engine does not support the node ("dtype f16, only f32"), empty when
  // it does. Null: `ops` decides.
  std::string (*reason)(const Node& node) = nullptr;
  std::vector<Op> ops;
  EngineStreams streams = {};
};

struct CompositeRow {
  EngineId id = EngineId::kNone;
  std::vector<EngineId> members;
};

struct EngineTable {
  std::vector<EngineRow> engines;  // by cost, then by name
  std::vector<CompositeRow> composites;

  const EngineRow* find(EngineId id) const;
};

Result<EngineTable> make_engine_table(const DeviceProfile& profile);

// Returns the row's answer for the node, with its reason.
std::string engine_unsupported_reason(const EngineRow& row, const Node& node);

}  // namespace sluice
