// Checks the rules between the fields of a ModelDef, given only the sizes of its segments.
#pragma once

#include "common/base/result.h"
#include "common/omfile/type_sizes.h"
#include "model.pb.h"

namespace sluice {

// An operand that is left out; the buffer of a value outside the arena.
inline constexpr uint32_t kAbsentId = 0xffffffff;

// Checks types, bindings, kernels and parts: everything but what verify_fixed_part checks. Segments
// were checked before.
Result<void> verify_model(const pb::ModelDef& model);
// Checks columns, regions, operands, streams and events of a part whose sizes are all known.
// O(values + tasks + operands).
Result<void> verify_fixed_part(const pb::ModelDef& model, const pb::FixedPart& part,
                               const TypeSizes& sizes, bool test_tasks);
// Checks the same before any size is bound, and the fields that a symbolic part is bound from.
Result<void> verify_part(const pb::ModelDef& model, const pb::PartDef& part, bool test_tasks);

// Checks only these fields, of a part whose fixed fields were checked.
Result<void> verify_symbolic_part(const pb::ModelDef& model, const pb::PartDef& def);

// Returns the bytes of a dense tensor of a type, or an error when dims are not fixed or do not fit
// 2^62 bytes. String tensors: 0.
Result<uint64_t> type_bytes(const pb::TypeDef& type);
// Returns the bytes of the segments of a kind; 0 without one.
uint64_t segment_bytes(const pb::ModelDef& model, pb::SegmentKind kind);

}  // namespace sluice
