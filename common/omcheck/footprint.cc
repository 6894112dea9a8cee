#include "common/omcheck/footprint.h"

#include <algorithm>

#include "common/base/dtype.h"

namespace sluice {
namespace {

// One axis in memory: its extent, and the distance in elements that the next axis outward has for
// it.
struct Axis {
  uint64_t extent = 1;
  uint64_t capacity = 1;
};

Axis stored_axis(const pb::TypeDef& type, const pb::TypeDef& capacity, int dim, int64_t divisor,
                 int64_t modulus) {
  if (modulus > 0) return {static_cast<uint64_t>(modulus), static_cast<uint64_t>(modulus)};
  const auto blocks = [&](const pb::TypeDef& def) {
    return static_cast<uint64_t>((def.dims(dim) + divisor - 1) / divisor);
  };
  return {blocks(type), blocks(capacity)};
}

std::vector<Axis> stored_axes(const pb::ModelDef& model, uint32_t storage, const pb::TypeDef& type,
                              const pb::TypeDef& capacity) {
  std::vector<Axis> axes;
  if (storage == 0) {
    for (int dim = 0; dim < type.dims_size(); ++dim)
      axes.push_back(stored_axis(type, capacity, dim, 1, 0));
    return axes;
  }
  const pb::StorageDef& def = model.storages(static_cast<int>(storage) - 1);
  for (int i = 0; i < def.dim_size(); ++i)
    axes.push_back(
        stored_axis(type, capacity, static_cast<int>(def.dim(i)), def.divisor(i), def.modulus(i)));
  return axes;
}

// Returns whether [begin, end) has a byte in common with a row of a footprint.
bool overlap_range(const Footprint& rows, uint64_t begin, uint64_t end) {
  const uint64_t first_end = rows.begin + rows.row_bytes;
  // the first row that ends after `begin`
  const uint64_t row = begin < first_end ? 0 : (begin - first_end) / rows.pitch + 1;
  return row < rows.rows && rows.begin + row * rows.pitch < end;
}

// Returns whether [begin, end) lies within one row of a footprint.
bool covers_range(const Footprint& rows, uint64_t begin, uint64_t end) {
  if (begin < rows.begin || end > rows.end()) return false;
  const uint64_t row = (begin - rows.begin) / rows.pitch;
  return end <= rows.begin + row * rows.pitch + rows.row_bytes;
}

// Calls visit(begin, end) for each row until it returns `wanted`; returns whether it did.
template <typename Visit>
bool any_row(const Footprint& rows, bool wanted, const Visit& visit) {
  for (uint64_t row = 0; row < rows.rows; ++row) {
    const uint64_t begin = rows.begin + row * rows.pitch;
    if (visit(begin, begin + rows.row_bytes) == wanted) return true;
  }
  return false;
}

// Of two footprints of one pitch, the first of which begins first: row j of the second lies in the
// row j + skipped of the first or in the gap after it, and may extend into the row after that.
bool overlap_equal_pitch(const Footprint& a, const Footprint& b) {
  const uint64_t skipped = (b.begin - a.begin) / a.pitch, column = (b.begin - a.begin) % a.pitch;
  if (column < a.row_bytes && skipped < a.rows) return true;
  return column + b.row_bytes > a.pitch && skipped + 1 < a.rows;
}

}  // namespace

std::optional<Footprint> footprint_of(const pb::ModelDef& model, const pb::FixedPart& part,
                                      uint32_t value) {
  const int v = static_cast<int>(value);
  const uint64_t bytes = part.value_bytes(v);
  Footprint result{part.value_region(v), part.value_offset(v), 1, bytes, bytes};
  const uint32_t capacity = part.value_capacity_size() == 0 ? 0 : part.value_capacity(v);
  if (capacity == 0) return result;
  const pb::TypeDef& type = model.types(static_cast<int>(part.value_type(v)));
  const std::vector<Axis> axes =
      stored_axes(model, part.value_storage(v), type, model.types(static_cast<int>(capacity) - 1));
  result.row_bytes = static_cast<uint64_t>(dtype_bits(static_cast<DType>(type.dtype()))) / 8;
  uint64_t stride = result.row_bytes;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (axis->extent == 0) return Footprint{result.region, result.begin, 1, 0, 0};
    if (axis->extent > 1) {
      if (result.rows == 1 && stride == result.row_bytes) {
        result.row_bytes *= axis->extent;
      } else if (result.rows == 1) {
        result.rows = axis->extent;
        result.pitch = stride;
      } else if (stride == result.rows * result.pitch) {
        result.rows *= axis->extent;
      } else {
        return std::nullopt;
      }
    }
    stride *= axis->capacity;
  }
  if (result.rows == 1) result.pitch = result.row_bytes;
  return result;
}

bool overlap(const Footprint& a, const Footprint& b) {
  if (a.region != b.region || a.is_empty() || b.is_empty() || a.begin >= b.end() ||
      b.begin >= a.end())
    return false;
  if (a.rows == 1) return overlap_range(b, a.begin, a.end());
  if (b.rows == 1) return overlap_range(a, b.begin, b.end());
  if (a.pitch == b.pitch)
    return a.begin <= b.begin ? overlap_equal_pitch(a, b) : overlap_equal_pitch(b, a);
  const Footprint &few = a.rows < b.rows ? a : b, &many = a.rows < b.rows ? b : a;
  return any_row(few, true,
                 [&](uint64_t begin, uint64_t end) { return overlap_range(many, begin, end); });
}

bool covers(const Footprint& whole, const Footprint& piece) {
  if (piece.is_empty()) return true;
  if (whole.is_empty() || piece.region != whole.region) return false;
  if (piece.begin < whole.begin || piece.end() > whole.end()) return false;
  if (whole.rows == 1) return true;
  if (piece.pitch == whole.pitch)  // all rows begin in one column
    return covers_range(whole, piece.begin, piece.begin + piece.row_bytes);
  return !any_row(piece, false,
                  [&](uint64_t begin, uint64_t end) { return covers_range(whole, begin, end); });
}

}  // namespace sluice
