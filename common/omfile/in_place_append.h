// States that are written in place: values of a part that are all of one state, in memory of the
// state's own, which has spare capacity along one axis. The functions require verified models,
// except those named "fault"; model outlives nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/omfile/type_sizes.h"
#include "model.pb.h"

namespace sluice {

// Returns the type of the memory that the values of a part's binding are in: a state's storage when
// it is written in place, otherwise their own type.
uint32_t memory_type(const pb::ModelDef& model, const pb::BindingDef& binding);

// Returns 1 + the state whose memory a region of the part is; 0: of none.
uint32_t state_of(const pb::ModelDef& model, const pb::FixedPart& part, uint32_t region);

// Returns the extents of a state's memory for contents of these extents.
std::vector<int64_t> capacity_of(const pb::TypeDef& storage, std::span<const int64_t> extents);

// A copy of a tensor from or to memory that has spare capacity along one axis: `rows` pieces at
// equal distances.
struct StridedCopy {
  uint64_t rows = 0, row_bytes = 0;
  uint64_t from_pitch = 0, to_pitch = 0;  // bytes from row to row
  uint64_t to_offset = 0;                 // bytes before the first one

  void run(const std::byte* from, std::byte* to) const;
};
// Returns the copy of a tensor of `extents` from memory of extents from_capacity to memory of
// extents to_capacity, from the begin on but for `at` elements along `axis` of to_capacity.
// Capacities exceed the extents along that axis alone.
StridedCopy strided_copy(std::span<const int64_t> extents, std::span<const int64_t> from_capacity,
                         std::span<const int64_t> to_capacity, size_t axis, int64_t at,
                         uint64_t element_bytes);
// Returns the axis along which the capacity exceeds the extents; 0 when none does.
size_t append_axis_of(std::span<const int64_t> extents, std::span<const int64_t> capacity);

// Rules. Sizes count when `is_bound`. Returns whether the value, which is in a state's memory, has
// the state's rank and dtype and is at most as large.
bool has_capacity(const pb::ModelDef& model, const pb::FixedPart& part, const TypeSizes& sizes,
                  bool is_bound, uint32_t value);
// Returns the fault in a copy of a state's value, or to one; empty: none. Values were verified.
std::string append_copy_fault(const pb::ModelDef& model, const pb::FixedPart& part,
                              const TypeSizes& sizes, bool is_bound, uint32_t to, uint32_t from);
// Returns the fault in a TASK_APPEND along axis; empty: none. Values were verified.
std::string append_fault(const pb::ModelDef& model, const pb::FixedPart& part,
                         const TypeSizes& sizes, bool is_bound, std::span<const uint32_t> operands,
                         uint32_t axis);

}  // namespace sluice
