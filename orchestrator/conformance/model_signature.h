// Reads the inputs and outputs of an ONNX model. The payloads of initializers are skipped in place,
// so that a model of gigabytes costs nothing.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/tensorfile/tensorfile.h"

namespace sluice {

struct SignatureValue {
  std::string name;
  ValueKind kind = ValueKind::kTensor;
  bool fixed = false;     // a tensor, every dim of which is a number
  bool is_float = false;  // a tensor of floats
};

struct ModelSignature {
  std::vector<SignatureValue> inputs;  // without those that have an initializer
  std::vector<SignatureValue> outputs;
};

// Reads a model's signature. Errors: kBadModel when the bytes are no ModelProto.
Result<ModelSignature> read_model_signature(std::span<const std::byte> model);

}  // namespace sluice
