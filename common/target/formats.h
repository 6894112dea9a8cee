// Which storages the kernels of an engine prefer for a node's operands and results. Dense and NHWC
// are the formats of this release.
#pragma once

#include <vector>

#include "common/ir/graph.h"

namespace sluice {

enum class FormatPreference : uint8_t {
  kDense,         // nothing else
  kAny,           // each costs the same, whatever the others are
  kSame,          // any, and the same as the node's first result
  kPrefersDense,  // any, but another one than dense makes the node dearer
  kPrefersNhwc,   // any, but another one than NHWC makes the node dearer
};

struct FormatPreferences {
  std::vector<FormatPreference> inputs, outputs;
};

// Returns the preferences of a node that runs on this engine.
FormatPreferences format_preferences(const Node& node, EngineId engine);

// Returns whether kernels of the engine read and write other formats than dense.
bool takes_formats(EngineId engine);

// Returns whether a kernel of the engine for this node can read or write the value, an operand or
// result, in rows along a stored axis that are parts of wider ones (store_rows).
bool takes_rows(const Node& node, const Value& value, size_t axis, EngineId engine);

// Returns whether a value can be stored in NHWC: a tensor of rank 3 to 5 whose elements are whole
// bytes and whose size is known before its node runs. One with a single channel or pixel has the
// same bytes in both formats, and is none.
bool is_formattable(const Value& value);

}  // namespace sluice
