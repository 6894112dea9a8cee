// Compares two compiled models but for their constants.
#pragma once

#include <string>

#include "model.pb.h"

namespace sluice {

// Returns the first difference, in words of the user's model: "input 'x': f32 1x3x32x32, expected
// f32 1x3x64x64". Empty when both have the same inputs, outputs, states, nodes, parts and tasks,
// and these launch the same kernels. Bytes of constants, places in memory, provenance and the
// graphs that are segments of their own are not compared. Both models have been verified. Linear.
std::string structure_difference(const pb::ModelDef& base, const pb::ModelDef& made);

}  // namespace sluice
