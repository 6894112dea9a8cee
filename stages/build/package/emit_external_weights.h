#pragma once

#include "common/ir/module.h"
#include "model.pb.h"
#include "stages/build/weights/layout_weights.h"

namespace sluice {

// Emits the constants of the layout that lie in files: sizes and names. Their digests, known when
// they are written, are zeros. Returns kLimit when they are more than a process can map one by one.
Result<void> emit_external_weights(const Module& module, const WeightLayout& layout,
                                   ExternalWeight external, pb::ModelDef& model);

}  // namespace sluice
