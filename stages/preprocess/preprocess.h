// Stage 1 turns an ONNX model into a typed graph: canonical ops, every value with a type, constants
// folded.
#pragma once

#include <span>

#include "common/pass/pass.h"
#include "common/stage/stage_main.h"

namespace sluice {

std::span<const Pass> preprocess_passes();

// Reads the model that args.input names. The options read are input-shape, dim and threads.
Result<Module> read_model(const StageArgs& args);

Result<Module> preprocess(Module module, const StageArgs& args);

}  // namespace sluice
