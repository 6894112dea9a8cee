// The bytes of a model with weights, in one file or two.
#pragma once

#include "common/tools/show_onnx/constants.h"
#include "common/tools/show_onnx/runnable.h"

namespace sluice {

struct ModelParts {
  const onnx::ModelProto& model;  // without graph
  onnx::GraphProto& graph;        // without large constants and the nodes that compute others
  const ConstantsWriter& constants;
};

// Writes the model. Of large constants only parts are in memory.
Result<void> write_model_file(const Module& module, const ModelParts& parts,
                              const RunnableOutput& output);

}  // namespace sluice
