// The rewrites of this folder that are files of rules: kFuseGeluRules is the text of
// fuse_gelu.rules.
#pragma once

namespace sluice {

#include "fusion_rules.inc"

}  // namespace sluice
