#include "common/omfile/in_place_append.h"

#include <cstring>
#include <numeric>

#include "common/base/dtype.h"
#include "common/omfile/om_bindings.h"
#include "fmt/format.h"

namespace sluice {
namespace {

uint64_t product(std::span<const int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), uint64_t{1},
                         [](uint64_t a, int64_t b) { return a * static_cast<uint64_t>(b); });
}

const pb::TypeDef& type_of(const pb::ModelDef& model, const pb::FixedPart& part, uint32_t value) {
  return model.types(static_cast<int>(part.value_type(static_cast<int>(value))));
}

std::vector<int64_t> extents_of(const pb::FixedPart& part, const TypeSizes& sizes, uint32_t value) {
  return sizes.extents(part.value_type(static_cast<int>(value))).value_or(std::vector<int64_t>());
}

}  // namespace

uint32_t memory_type(const pb::ModelDef& model, const pb::BindingDef& binding) {
  return binding.state() == 0 ? binding.type()
                              : model.states(static_cast<int>(binding.state()) - 1).storage() - 1;
}

uint32_t state_of(const pb::ModelDef& model, const pb::FixedPart& part, uint32_t region) {
  if (region < pb::REGION_FIRST_BINDING) return 0;
  const Bindings &inputs = part_inputs(model, part), &outputs = part_outputs(model, part);
  const int binding = static_cast<int>(region) - pb::REGION_FIRST_BINDING;
  return binding < inputs.size() ? inputs[binding].state()
                                 : outputs[binding - inputs.size()].state();
}

std::vector<int64_t> capacity_of(const pb::TypeDef& storage, std::span<const int64_t> extents) {
  std::vector<int64_t> capacity(extents.begin(), extents.end());
  for (int dim = 0; dim < storage.dims_size(); ++dim) {
    if (storage.dims(dim) >= 0) capacity[static_cast<size_t>(dim)] = storage.dims(dim);
  }
  return capacity;
}

size_t append_axis_of(std::span<const int64_t> extents, std::span<const int64_t> capacity) {
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] != capacity[axis]) return axis;
  }
  return 0;
}

StridedCopy strided_copy(std::span<const int64_t> extents, std::span<const int64_t> from_capacity,
                         std::span<const int64_t> to_capacity, size_t axis, int64_t at,
                         uint64_t element_bytes) {
  StridedCopy copy;
  copy.rows = product(extents.first(axis));
  copy.row_bytes = product(extents.subspan(axis)) * element_bytes;
  copy.from_pitch = product(from_capacity.subspan(axis)) * element_bytes;
  copy.to_pitch = product(to_capacity.subspan(axis)) * element_bytes;
  copy.to_offset =
      static_cast<uint64_t>(at) * product(to_capacity.subspan(axis + 1)) * element_bytes;
  return copy;
}

void StridedCopy::run(const std::byte* from, std::byte* to) const {
  if (row_bytes == 0) return;
  for (uint64_t row = 0; row < rows; ++row)
    std::memcpy(to + to_offset + row * to_pitch, from + row * from_pitch, row_bytes);
}

bool has_capacity(const pb::ModelDef& model, const pb::FixedPart& part, const TypeSizes& sizes,
                  bool is_bound, uint32_t value) {
  const uint32_t state = state_of(model, part, part.value_region(static_cast<int>(value)));
  const uint32_t storage = model.states(static_cast<int>(state) - 1).storage() - 1;
  const pb::TypeDef &type = type_of(model, part, value),
                    &memory = model.types(static_cast<int>(storage));
  if (type.dtype() != memory.dtype() || type.dims_size() != memory.dims_size() ||
      type.dims_size() == 0)
    return false;
  if (part.value_offset(static_cast<int>(value)) != 0) return false;
  if (!is_bound) return true;
  const std::vector<int64_t> extents = extents_of(part, sizes, value),
                             capacity = sizes.extents(storage).value_or(std::vector<int64_t>());
  if (extents.size() != capacity.size()) return false;
  int smaller = 0;
  for (size_t dim = 0; dim < capacity.size(); ++dim) {
    if (extents[dim] > capacity[dim]) return false;
    smaller += extents[dim] < capacity[dim] ? 1 : 0;
  }
  return smaller <= 1;
}

std::string append_copy_fault(const pb::ModelDef& model, const pb::FixedPart& part,
                              const TypeSizes& sizes, bool is_bound, uint32_t to, uint32_t from) {
  if (type_of(model, part, to).dtype() != type_of(model, part, from).dtype())
    return "it copies a value to one of another dtype";
  if (is_bound && extents_of(part, sizes, to) != extents_of(part, sizes, from))
    return "it copies a value to one of another shape";
  return {};
}

std::string append_fault(const pb::ModelDef& model, const pb::FixedPart& part,
                         const TypeSizes& sizes, bool is_bound, std::span<const uint32_t> operands,
                         uint32_t axis) {
  if (operands.size() < 3) return "it appends nothing";
  const auto state = [&](uint32_t value) {
    return state_of(model, part, part.value_region(static_cast<int>(value)));
  };
  if (state(operands[0]) == 0 || state(operands[0]) != state(operands[1]))
    return "it appends to what is no state";
  if (axis >= static_cast<uint32_t>(type_of(model, part, operands[0]).dims_size()))
    return fmt::format("it appends along axis {}", axis);
  for (const uint32_t operand : operands) {
    if (type_of(model, part, operand).dtype() != type_of(model, part, operands[0]).dtype())
      return "it appends another dtype";
  }
  if (!is_bound) return {};
  const std::vector<int64_t> whole = extents_of(part, sizes, operands[0]);
  int64_t length = 0;
  for (const uint32_t operand : operands.subspan(1)) {
    std::vector<int64_t> own = extents_of(part, sizes, operand);
    if (own.size() != whole.size()) return "it appends another rank";
    length += own[axis];
    own[axis] = whole[axis];
    if (own != whole) return "it appends another shape";
  }
  return length == whole[axis] ? "" : "what it appends does not fill its result";
}

}  // namespace sluice
