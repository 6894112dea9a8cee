// States that are written in place: values of a part that lie, all of one state, in memory of the
// state's own, which has room for more along one axis. Answers are for verified models, but where
// "fault" says otherwise; model outlives nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model.pb.h"
#include "runtime/loader/type_sizes.h"

namespace sluice {

// The type of the memory that the values of a part's binding lie in: a state's storage where it is
// written in place, else their own.
uint32_t memory_type(const pb::ModelDef& model, const pb::BindingDef& binding);

// 1 + the state whose memory a region of the part is; 0: of none.
uint32_t state_of(const pb::ModelDef& model, const pb::FixedPart& part, uint32_t region);

// Extents of a state's memory while it holds something of these extents.
std::vector<int64_t> capacity_of(const pb::TypeDef& storage, std::span<const int64_t> extents);

// A tensor's bytes from or to memory that has room for more along one axis: `rows` pieces at equal
// distances.
struct StridedCopy {
  uint64_t rows = 0, row_bytes = 0;
  uint64_t from_pitch = 0, to_pitch = 0;  // bytes from row to row
  uint64_t to_offset = 0;                 // bytes before the first one

  void run(const std::byte* from, std::byte* to) const;
};
// From memory of extents from_capacity to memory of extents to_capacity; both hold what is copied,
// of `extents`, from their begin on but for `at` elements along `axis` of to_capacity. Rooms are
// larger than the extents along that axis alone.
StridedCopy strided_copy(std::span<const int64_t> extents, std::span<const int64_t> from_capacity,
                         std::span<const int64_t> to_capacity, size_t axis, int64_t at,
                         uint64_t element_bytes);
// The axis along which room exceeds the extents; 0 when none does.
size_t append_axis_of(std::span<const int64_t> extents, std::span<const int64_t> capacity);

// Rules. Sizes count when `is_bound`.
// Whether the value, which lies in a state's memory, has the state's rank and dtype and is at most
// as large.
bool has_capacity(const pb::ModelDef& model, const pb::FixedPart& part, const TypeSizes& sizes,
                  bool is_bound, uint32_t value);
// What is wrong with a copy of a state's value, or to one; empty: nothing. Values were verified.
std::string append_copy_fault(const pb::ModelDef& model, const pb::FixedPart& part,
                              const TypeSizes& sizes, bool is_bound, uint32_t to, uint32_t from);
// What is wrong with a TASK_APPEND along axis; empty: nothing. Values were verified.
std::string append_fault(const pb::ModelDef& model, const pb::FixedPart& part,
                         const TypeSizes& sizes, bool is_bound, std::span<const uint32_t> operands,
                         uint32_t axis);

}  // namespace sluice
