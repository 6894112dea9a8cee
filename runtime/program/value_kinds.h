// Between the types of a model, the values of files and those of runs.
#pragma once

#include "common/tensorfile/tensorfile.h"
#include "model.pb.h"
#include "runtime/executor/host_engine.h"

namespace sluice {

// What a file of a value of this type holds.
ValueKind value_kind(const pb::ModelDef& model, uint32_t type);
// The file's tensors stay where they are.
HostValue host_value(const FileValue& value);
FileValue file_value(const HostValue& host, ValueKind kind, const std::string& name);

}  // namespace sluice
