// Checks a caller's values before a run reads them, and the outputs of the run against their types.
#pragma once

#include <span>
#include <string>

#include "common/base/result.h"
#include "model.pb.h"
#include "runtime/loader/host_engine.h"

namespace sluice {

// Returns whether a value has the type; of a tensor, its dtype and dims.
bool fits(const pb::TypeDef& type, const HostTensor& tensor);
bool fits(const pb::ModelDef& model, uint32_t type, const HostValue& value);
std::string text_of(
    const HostValue& value);  // "f32 2x3", "a sequence of 2, the first f32 3", "nothing"

// Returns ": axis 1 is 17, the model takes 16" when the shape of a tensor is what does not fit,
// else nothing: the end of an error message.
std::string shape_mismatch_text(const pb::ModelDef& model, uint32_t type, const HostValue& value);

// Checks that a tensor has as many bytes as its dims need. Error: kBadBinding.
Result<void> check_tensor(const HostTensor& tensor, const std::string& input);

// Checks that dims of one name are equal in all inputs, and within the bounds that --dim gave or
// the graph needs. The values must fit their types. Error: kBadBinding.
Result<void> check_dims(const pb::ModelDef& model, std::span<const HostValue> inputs);

}  // namespace sluice
