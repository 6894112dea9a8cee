// Conversions between maps of the evaluator and maps of files.
#pragma once

#include <optional>

#include "common/eval/eval.h"
#include "common/tensorfile/tensorfile.h"

namespace sluice {

// Returns the kind of a file of a value of this type, or nothing when it contains no maps.
std::optional<ValueKind> map_kind(const Module& module, const Type& type);
// Returns nothing when the value is neither a map nor a sequence of maps.
std::optional<FileValue> maps_to_file(const EvalValue& value);
EvalValue maps_from_file(FileValue value);

}  // namespace sluice
