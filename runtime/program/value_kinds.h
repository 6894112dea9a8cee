// Converts between the types of a model, the values of files and those of runs.
#pragma once

#include "common/tensorfile/tensorfile.h"
#include "model.pb.h"
#include "runtime/loader/host_engine.h"

namespace sluice {

// Returns the kind of value in a file for this type.
ValueKind value_kind(const pb::ModelDef& model, uint32_t type);
// Returns a value that refers to the file's tensors, which are not copied.
HostValue host_value(const FileValue& value);
FileValue file_value(const HostValue& host, ValueKind kind, const std::string& name);

}  // namespace sluice
