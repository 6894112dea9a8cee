#include "common/eval/strided.h"

#include <algorithm>
#include <cstring>

#include "common/eval/axes.h"

namespace sluice::eval {
namespace {

// The bytes of an element at any address: constants are in the user's files at arbitrary offsets.
template <size_t width>
struct Element {
  std::byte bytes[width];
};

struct Axis {
  int64_t extent, from, to;  // strides in elements
};

// Returns the axes without those of one element, adjacent ones joined where both sides allow it;
// the innermost axis is last.
std::vector<Axis> joined_axes(const StridedView& from, const std::vector<int64_t>& to_strides) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < from.dims.size(); ++i) {
    const Axis axis{from.dims[i], from.strides[i], to_strides[i]};
    if (axis.extent == 1) continue;
    const bool joins = !axes.empty() && axes.back().from == axis.from * axis.extent &&
                       axes.back().to == axis.to * axis.extent;
    if (joins) {
      axes.back() = {axes.back().extent * axis.extent, axis.from, axis.to};
    } else {
      axes.push_back(axis);
    }
  }
  return axes;
}

template <typename T>
void copy_row(const T* from, T* to, const Axis& axis) {
  if (axis.from == 1 && axis.to == 1) {
    std::memcpy(to, from, static_cast<size_t>(axis.extent) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < axis.extent; ++i) to[i * axis.to] = from[i * axis.from];
}

// Copies two axes, one of which is dense in the source and the other in the target, in tiles, so
// that neither side leaves its cache lines.
template <typename T>
void copy_plane(const T* from, T* to, const Axis& outer, const Axis& inner) {
  constexpr int64_t kTile = 16;
  for (int64_t i0 = 0; i0 < outer.extent; i0 += kTile) {
    const int64_t i1 = std::min(i0 + kTile, outer.extent);
    for (int64_t j0 = 0; j0 < inner.extent; j0 += kTile) {
      const int64_t j1 = std::min(j0 + kTile, inner.extent);
      for (int64_t i = i0; i < i1; ++i) {
        for (int64_t j = j0; j < j1; ++j)
          to[i * outer.to + j * inner.to] = from[i * outer.from + j * inner.from];
      }
    }
  }
}

template <typename T>
void copy_axes(const T* from, T* to, const Axis* axis, size_t left) {
  if (left == 0) {
    *to = *from;
  } else if (left == 1) {
    copy_row(from, to, *axis);
  } else if (left == 2 && axis[1].from != 1) {
    copy_plane(from, to, axis[0], axis[1]);
  } else {
    for (int64_t i = 0; i < axis->extent; ++i)
      copy_axes(from + i * axis->from, to + i * axis->to, axis + 1, left - 1);
  }
}

template <typename T>
void copy_elements(const StridedView& from, std::byte* to, std::vector<Axis> axes) {
  // The axis that is dense in `from` is moved next to the innermost one, so that the two make a
  // plane.
  const auto dense =
      std::find_if(axes.begin(), axes.end(), [](const Axis& axis) { return axis.from == 1; });
  if (axes.size() > 2 && dense < axes.end() - 2) std::rotate(dense, dense + 1, axes.end() - 1);
  copy_axes(reinterpret_cast<const T*>(from.data), reinterpret_cast<T*>(to), axes.data(),
            axes.size());
}

// The ends of the two groups of axes that begin at `a` and `b`: the shortest groups with equal
// products.
struct Group {
  size_t a_end, b_end;
};
Group next_group(const std::vector<int64_t>& a, size_t a_begin, const std::vector<int64_t>& b,
                 size_t b_begin) {
  size_t i = a_begin, j = b_begin;
  int64_t p = i < a.size() ? a[i++] : 1, q = j < b.size() ? b[j++] : 1;
  while (p != q) {
    if (p < q) {
      p *= a[i++];
    } else {
      q *= b[j++];
    }
  }
  return {i, j};
}

}  // namespace

std::vector<int64_t> dense_strides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = times(strides[i], dims[i]);
  return strides;
}

bool StridedView::is_dense() const {
  int64_t expected = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] != 1 && strides[i] != expected) return false;
    expected = times(expected, dims[i]);
  }
  return true;
}

void copy_strided(const StridedView& from, size_t width, std::byte* to,
                  const std::vector<int64_t>& to_strides) {
  if (std::find(from.dims.begin(), from.dims.end(), 0) != from.dims.end()) return;
  std::vector<Axis> axes = joined_axes(from, to_strides);
  switch (width) {
    case 1:
      return copy_elements<Element<1>>(from, to, std::move(axes));
    case 2:
      return copy_elements<Element<2>>(from, to, std::move(axes));
    case 4:
      return copy_elements<Element<4>>(from, to, std::move(axes));
    case 8:
      return copy_elements<Element<8>>(from, to, std::move(axes));
    default:
      return copy_elements<Element<16>>(from, to, std::move(axes));
  }
}

void copy_strided(const StridedView& from, size_t width, std::byte* to) {
  copy_strided(from, width, to, dense_strides(from.dims));
}

ReshapedBox reshape_box(const Box& wanted, const std::vector<int64_t>& to,
                        const std::vector<int64_t>& from) {
  ReshapedBox result;
  result.source = Box::whole(from);
  result.strides.assign(to.size(), 0);
  const std::vector<int64_t> to_strides = dense_strides(to), from_strides = dense_strides(from);
  struct Span {
    size_t begin, end;         // axes of `to`
    int64_t unit, low, count;  // elements after the group; the covered interval within it
    int64_t first;             // of the wanted box
  };
  std::vector<Span> spans;
  for (size_t a = 0, b = 0; a < to.size() || b < from.size();) {
    const Group end = next_group(to, a, from, b);
    const int64_t unit = end.a_end > a ? to_strides[end.a_end - 1] : 1;
    int64_t first = 0, last = 0;  // corners of the wanted box, as elements of the group
    for (size_t i = a; i < end.a_end; ++i) {
      first += wanted.begin[i] * (to_strides[i] / unit);
      last += (wanted.begin[i] + wanted.extent[i] - 1) * (to_strides[i] / unit);
    }
    int64_t low = 0, count = 1;
    bool parted = false;  // after the axis on which the corners differ, everything is read
    for (size_t j = b; j < end.b_end; ++j) {
      const int64_t stride = from_strides[j] / (end.b_end > b ? from_strides[end.b_end - 1] : 1);
      const int64_t begin = parted ? 0 : first / stride % from[j];
      const int64_t extent = parted ? from[j] : last / stride % from[j] - begin + 1;
      parted = parted || extent > 1;
      result.source.begin[j] = begin;
      result.source.extent[j] = extent;
      low += begin * stride;
      count *= extent;
    }
    spans.push_back({a, end.a_end, unit, low, count, first});
    a = end.a_end;
    b = end.b_end;
  }
  int64_t behind = 1;  // elements of the source box in the following groups
  for (size_t g = spans.size(); g-- > 0;) {
    const Span& span = spans[g];
    result.offset += (span.first - span.low) * behind;
    for (size_t i = span.begin; i < span.end; ++i)
      result.strides[i] = to_strides[i] / span.unit * behind;
    behind *= span.count;
  }
  return result;
}

}  // namespace sluice::eval
