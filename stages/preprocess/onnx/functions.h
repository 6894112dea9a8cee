// Model-local functions are inlined where they are called.
#pragma once

#include <map>
#include <string_view>

#include "common/base/result.h"
#include "onnx.pb.h"

namespace sluice {

// Opsets of nodes that came from a function whose imports differ from the model's. Keyed by
// address, only ever looked up.
using NodeOpsets = std::map<const onnx::NodeProto*, int64_t>;

// Returns the domain by its short name: that of ONNX's own operators is empty.
inline std::string_view plain_domain(std::string_view domain) {
  return domain == "ai.onnx" ? "" : domain;
}

// Returns the version of ONNX's own operators among the imports; -1 when there is none.
template <typename Imports>
int64_t onnx_opset(const Imports& imports) {
  int64_t opset = -1;
  for (const onnx::OperatorSetIdProto& import : imports) {
    if (import.domain().empty() || import.domain() == "ai.onnx") opset = import.version();
  }
  return opset;
}

// Returns the opset of a model, which need not declare it before IR version 3: it is 1 then.
inline int64_t model_opset(const onnx::ModelProto& model) {
  const int64_t opset = onnx_opset(model.opset_import());
  return opset < 0 && model.ir_version() < 3 && model.opset_import_size() == 0 ? 1 : opset;
}

// Replaces every call of a function of the model, bodies included, by the function's nodes. Values
// inside get the caller's name as a prefix, so that names stay unique. A function that calls itself
// is kBadModel; more than four million nodes are kLimit.
Result<NodeOpsets> inline_functions(onnx::ModelProto& model);

}  // namespace sluice
