// Adapters of the forms that operators had in ONNX's first opsets, and of Scan over batches: rows
// of the table in upgrade.cc. Each changes the form of the opset in its name's comment into that of
// the next one (ONNX's Changelog.md).
#pragma once

#include <string_view>

#include "stages/preprocess/onnx/upgrade.h"

namespace sluice {

Result<void> cast_by_name(UpgradeCall& call);          // Cast-1: attribute 'to' is a name, "FLOAT"
Result<void> concat_axis(UpgradeCall& call);           // Concat-1: the axis is 1 by default
Result<void> float_power(UpgradeCall& call);           // LpPool-1, GlobalLpPool-1: p is a float
Result<void> pad_paddings(UpgradeCall& call);          // Pad-1: 'paddings'
Result<void> reshape_by_attribute(UpgradeCall& call);  // Reshape-1: attribute 'shape'
Result<void> selu_defaults(UpgradeCall& call);         // Selu-1: shorter default numbers
Result<void> split_by_floats(UpgradeCall& call);  // Split-1: input 'split' is of the data's dtype
// Tile-1: inputs 'tiles' and 'axis', scalars of the data's dtype.
Result<void> tile_along_axis(UpgradeCall& call);
// Upsample-1: 'height_scale' and 'width_scale'.
Result<void> upsample_by_factors(UpgradeCall& call);
// Scan-8: the first axis of everything is the batch.
Result<void> scan_of_batches(UpgradeCall& call);

}  // namespace sluice
