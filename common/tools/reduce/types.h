// The types of the values of a model, as sluice-preprocess infers them.
#pragma once

#include <optional>
#include <string>

#include "common/tools/reduce/model.h"

namespace sluice {

struct Inferred {
  Types types;  // of values of every graph whose name is unique
  // True when sluice-preprocess accepts the model; otherwise the types are those before the
  // rejected node.
  bool is_valid = true;
};

// Infers the types. `scratch` is a folder for temporary files. Errors: kIo, kProgramMissing.
Result<Inferred> infer_types(const onnx::ModelProto& model, const std::string& scratch);
// Returns the types when sluice-preprocess accepts the model, otherwise nothing.
Result<std::optional<Types>> types_of_valid(const onnx::ModelProto& model,
                                            const std::string& scratch);

}  // namespace sluice
