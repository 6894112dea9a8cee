// The file of --fusion-switch-file:
//
//   {"Switch": {"GraphFusion": {"ALL": "off", "fuse-gelu": "on"}, "UBFusion": {"store-pieces":
//   "on"}}}
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"

namespace sluice {

// Converts the content to lines "NAME on" or "NAME off", sorted. Passes have one set of names, so
// both sections may name any of them. Errors: kBadJson, which names the key.
Result<std::string> fusion_switch_lines(std::string_view text);

}  // namespace sluice
