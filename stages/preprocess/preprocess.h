// Stage 1: an ONNX model in, a typed graph out: canonical ops, every value with a type, constants
// folded.
#pragma once

#include <span>

#include "common/pass/pass.h"
#include "common/stage/stage_main.h"

namespace sluice {

std::span<const Pass> preprocess_passes();

// Reads the model that args.input names. Options read: input-shape, dim, threads.
Result<Module> read_model(const StageArgs& args);

Result<Module> preprocess(Module module, const StageArgs& args);

}  // namespace sluice
