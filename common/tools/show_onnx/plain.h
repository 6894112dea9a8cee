// Removes from a module what only Sluice distinguishes, so that its nodes are operators of ONNX.
#pragma once

#include "common/ir/module.h"

namespace sluice {

// Puts the nodes of fused bodies in the place of the Fused nodes, and leaves out copies between
// storages or of bytes. A copy that is the output of a graph becomes an Identity. The module is
// then for writing as ONNX alone: storages of values are left behind.
void make_plain(Module& module);

}  // namespace sluice
