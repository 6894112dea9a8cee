// Maps of the evaluator as those of files, and back.
#pragma once

#include <optional>

#include "common/eval/eval.h"
#include "common/tensorfile/tensorfile.h"

namespace sluice {

// What a file of a value of this type holds; nothing where it holds no maps.
std::optional<ValueKind> map_kind(const Module& module, const Type& type);
// Nothing where it is no map and no sequence of some.
std::optional<FileValue> maps_to_file(const EvalValue& value);
EvalValue maps_from_file(FileValue value);

}  // namespace sluice
