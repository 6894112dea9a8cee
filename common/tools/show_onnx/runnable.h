// A graph as an ONNX model that other tools run.
#pragma once

#include <string>

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

struct RunnableOutput {
  std::string path;            // "-": standard output
  bool external_data = false;  // large constants beside the model, also below 2 GiB
};

// Writes a typed graph with its weights, which are read and evaluated one after the other. Above
// 2 GiB, the maximum of an ONNX model, constants are external data in the file PATH.data. The
// module is changed: Fused nodes are their bodies then. Errors: kWrongLevel above typed,
// kUnsupportedOp for nodes without form in ONNX, all of them, kLimit above 2 GiB without a file for
// external data; those of reading constants and of writing.
Result<void> write_runnable_onnx(Module& module, const RunnableOutput& output);

}  // namespace sluice
