// What types the values of a model have, as sluice-preprocess infers them.
#pragma once

#include <optional>
#include <string>

#include "common/tools/reduce/model.h"

namespace sluice {

struct Inferred {
  Types types;           // of values of every graph whose name stands for one value alone
  bool is_valid = true;  // sluice-preprocess takes the model; else the types are those before the
                         // node it refuses
};

// `scratch`: a folder for files in passing. Errors: kIo, kProgramMissing.
Result<Inferred> infer_types(const onnx::ModelProto& model, const std::string& scratch);
// Whether sluice-preprocess takes the model; then its types.
Result<std::optional<Types>> types_of_valid(const onnx::ModelProto& model,
                                            const std::string& scratch);

}  // namespace sluice
