#include "runtime/executor/appended_state.h"

#include <cstring>

#include "common/base/memory.h"
#include "common/omfile/in_place_append.h"

namespace sluice {

uint64_t AppendedState::element_bytes() const {
  return dtype_bits(static_cast<DType>(storage_->dtype())) / 8;
}

// Makes memory for a state of these extents; that of the previous execution is reused when nobody
// else keeps it and it is large enough.
Result<AppendedState::Place> AppendedState::make_place(std::span<const int64_t> extents,
                                                       const std::string& name) const {
  const std::vector<int64_t> capacity = capacity_of(*storage_, extents);
  for (size_t axis = 0; axis < capacity.size(); ++axis) {
    if (extents[axis] <= capacity[axis]) continue;
    return make_error(ErrorCode::kBadBinding,
                      "state '{}' of {} is larger than the model was compiled for: {}", name,
                      dims_text(extents), dims_text(capacity))
        .with_hint("compile with a larger bound: --dim NAME=0..SIZE");
  }
  const auto elements = element_count(capacity);
  if (!elements)
    return make_error(ErrorCode::kLimit,
                      "state '{}' of {} needs more memory than there are addresses", name,
                      dims_text(capacity))
        .with_hint("compile with a smaller bound: --dim NAME=0..SIZE");
  Place place{now_.memory, *elements * element_bytes(), {extents.begin(), extents.end()}};
  if (is_kept() || place.memory.data() == nullptr || place.memory.size() < place.bytes) {
    auto memory = Arena::allocate(place.bytes);
    if (!memory) {
      return make_error(ErrorCode::kLimit,
                        "no memory for state '{}', which may grow to {}: {} bytes{}", name,
                        dims_text(capacity), place.bytes, memory_limit_text())
          .with_hint("compile with a smaller bound: --dim NAME=0..SIZE");
    }
    place.memory = std::move(*memory);
  }
  return place;
}

Result<void> AppendedState::begin(std::span<const int64_t> extents, const std::string& name) {
  SLUICE_ASSIGN(now_, make_place(extents, name));
  const std::vector<int64_t> capacity = capacity_of(*storage_, extents);
  const Tensor zeros = make_tensor(static_cast<DType>(storage_->dtype()), now_.extents);
  strided_copy(extents, extents, capacity, append_axis_of(extents, capacity), 0, element_bytes())
      .run(zeros.bytes.data(), now_.memory.data());
  return {};
}

Result<void> AppendedState::load(const HostTensor& tensor, const std::string& name) {
  SLUICE_ASSIGN(now_, make_place(tensor.dims, name));
  const std::vector<int64_t> capacity = capacity_of(*storage_, tensor.dims);
  strided_copy(tensor.dims, tensor.dims, capacity, append_axis_of(tensor.dims, capacity), 0,
               element_bytes())
      .run(tensor.bytes.data(), now_.memory.data());
  return {};
}

void AppendedState::keep(std::vector<int64_t> extents) noexcept {
  kept_ = {now_.memory, now_.bytes, std::move(extents)};
}

Tensor AppendedState::dense(std::span<const int64_t> extents) const {
  Tensor tensor =
      make_unfilled_tensor(static_cast<DType>(storage_->dtype()), {extents.begin(), extents.end()});
  const std::vector<int64_t> capacity = capacity_of(*storage_, tensor.dims);
  strided_copy(tensor.dims, capacity, tensor.dims, append_axis_of(tensor.dims, capacity), 0,
               element_bytes())
      .run(now_.memory.data(), tensor.bytes.data());
  return tensor;
}

}  // namespace sluice
