// ONNX -> Graph: names become values, initializers constants, captured values of bodies explicit
// trailing inputs, old operator forms canonical ones. No Node stands for a Constant, and no
// model-local function is left.
//
// Every body of a node takes the same captures, in the same order, as the node's trailing inputs:
// what a body of an If does not read is there all the same. A captured constant is no capture but a
// constant of the body.
#pragma once

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/module.h"
#include "stages/preprocess/onnx/model_file.h"

namespace sluice {

// Options read: input-shape, dim, external-dir, threads. Types of results are left unknown. Errors
// name the file (kBadModel, kUnsupportedOp, …).
Result<Module> import_model(ModelFile file, const Options& options);

}  // namespace sluice
