// What a caller's values must be before a run reads them, and what a run promises of its own.
#pragma once

#include <span>
#include <string>

#include "common/base/result.h"
#include "model.pb.h"
#include "runtime/executor/host_engine.h"

namespace sluice {

// Whether a value has the type; a tensor alone its dtype and dims.
bool fits(const pb::TypeDef& type, const HostTensor& tensor);
bool fits(const pb::ModelDef& model, uint32_t type, const HostValue& value);
std::string text_of(
    const HostValue& value);  // "f32 2x3", "a sequence of 2, the first f32 3", "nothing"

// A tensor whose bytes are as many as its dims say. Error: kBadBinding.
Result<void> check_tensor(const HostTensor& tensor, const std::string& input);

// Dims of one name are equal in all inputs, and within the bounds that --dim gave or the graph
// needs. The values fit their types. Error: kBadBinding.
Result<void> check_dims(const pb::ModelDef& model, std::span<const HostValue> inputs);

}  // namespace sluice
