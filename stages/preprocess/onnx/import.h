// ONNX -> Graph: names become values, initializers constants, captured values of bodies explicit
// trailing inputs, old operator forms canonical ones. No Node stands for a Constant, and no
// model-local function remains.
//
// Every body of a node takes the same captures, in the same order, as the node's trailing inputs: a
// body of an If has all of them, also those that it does not read. A captured constant becomes a
// constant of the body instead of a capture.
#pragma once

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/module.h"
#include "stages/preprocess/onnx/model_file.h"

namespace sluice {

// Imports a model. The options read are input-shape, dim, external-dir and threads. Types of
// results are left unknown. Errors name the file (kBadModel, kUnsupportedOp, …).
Result<Module> import_model(ModelFile file, const Options& options);

}  // namespace sluice
