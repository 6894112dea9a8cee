// The layout that a direct convolution gives its input, shared by its plan and its emitter.
//
// The planes are f32 whatever x is. For each input channel, or slice of one under the kernel, and
// kernel column kw there is one plane of as many columns as the output: plane(ih, ow) = x(ih, ow *
// stride_w + kw * dilation_w - pad_left), zero outside. Its rows are sorted by ih modulo stride_h,
// so that the reduction step (ci, kd, kh, kw) reads the whole output chunk from one constant
// offset, over row ends: a convolution becomes a matrix product whose second operand overlaps
// itself. Output slices of a 3-d image have planes of their own.
//
// The phases of a transposed convolution, whose sizes are fixed, have few output channels each, and
// no stride: all kernel columns read one plane, whose rows are so much longer. What is computed at
// the ends of its rows is no output.
//
// With symbolic sizes a chunk has as many rows as fill the planned positions, whatever the width,
// and the offsets are computed when the kernel runs. A plane has a fixed share of the scratch that
// a device has: where one output row is too wide for it, a chunk is a piece of a row.
#pragma once

#include <algorithm>
#include <vector>

#include "stages/subgraph-optimize/codegen/conv/conv_kinds.h"
#include "stages/subgraph-optimize/codegen/conv/conv_phases.h"

namespace sluice {

constexpr int64_t kScratchLine = 16;  // floats of a cache line

struct DirectGeometry {
  bool in_place = false;  // a 1x1 kernel over every pixel of f32: x already contains the planes
  std::vector<int64_t> phases;  // the values of ih modulo stride_h that some kh needs, ascending
  int64_t max_shift = 0;        // rows from the first kh to the last one, within its phase
  int64_t chunk_rows = 1;

  DirectGeometry(const ConvSpec& s, int64_t rows) : chunk_rows(rows) {
    in_place = s.dtype == DType::kF32 && is_pointwise(s);
    for (int64_t kh = 0; kh < s.kh; ++kh) {
      phases.push_back(kh * s.dilation_h % s.stride_h);
      max_shift = std::max(max_shift, kh * s.dilation_h / s.stride_h);
    }
    max_shift += phase_shift(0, s.phases.h, s.phases.cut_top);
    std::sort(phases.begin(), phases.end());
    phases.erase(std::unique(phases.begin(), phases.end()), phases.end());
  }

  int64_t slot(const ConvSpec& s, int64_t kh) const {  // of the kernel row's phase
    return std::lower_bound(phases.begin(), phases.end(), kh * s.dilation_h % s.stride_h) -
           phases.begin();
  }
  int64_t plane_rows() const { return chunk_rows + max_shift; }  // of each phase
  int64_t plane_stride(const ConvSpec& s) const {
    return in_place ? input_pixels(s).nominal
                    : static_cast<int64_t>(phases.size()) * plane_rows() * columns(s);
  }
  // Returns, for symbolic sizes, the minimum of output rows of a chunk, such that neighbours do not
  // both prepare the greater part of it.
  int64_t min_rows() const { return std::max<int64_t>(1, 2 * max_shift); }
  // Returns whether all kernel columns read one plane.
  bool shares_planes(const ConvSpec& s) const { return s.phases.count() > 1; }
  // Returns the planes of a channel, or of one of its slices.
  int64_t slice_planes(const ConvSpec& s) const { return shares_planes(s) ? 1 : s.kw; }
  int64_t planes(const ConvSpec& s) const {  // of a group
    return s.ci / s.groups * s.depth.kernel * slice_planes(s);
  }
  // Returns the floats of a plane's row.
  int64_t columns(const ConvSpec& s) const {
    const int64_t more = s.kw - 1 + phase_shift(0, s.phases.w, s.phases.cut_left);
    return s.ow.nominal + (shares_planes(s) ? more : 0);
  }
  // Returns floats; the last vectors of a row and of a tile may run past the end.
  int64_t scratch_floats(const ConvSpec& s) const {
    return in_place ? 0 : planes(s) * plane_stride(s) + kPastEnd;
  }

  // Returns the floats from plane to plane for symbolic sizes: an odd number of cache lines. At
  // even distances the planes would share few of the first cache's sets.
  int64_t spread_floats(int64_t floats) const {
    return ((floats + kScratchLine - 1) / kScratchLine | 1) * kScratchLine;
  }
  // Returns the floats for each phase of a plane when all planes fit into scratch_limit bytes; 0
  // when they cannot.
  int64_t max_phase_floats(const ConvSpec& s, int64_t scratch_limit) const {
    const int64_t lines = (scratch_limit / 4 - kPastEnd) / planes(s) / kScratchLine;
    const int64_t odd = lines % 2 == 0 ? lines - 1 : lines;
    return std::max<int64_t>(odd, 0) * kScratchLine / static_cast<int64_t>(phases.size());
  }
  uint64_t spread_scratch_bytes(const ConvSpec& s, int64_t phase_floats) const {
    const int64_t plane = spread_floats(phase_floats * static_cast<int64_t>(phases.size()));
    return static_cast<uint64_t>(planes(s) * plane + kPastEnd) * 4;
  }

  static constexpr int64_t kPastEnd = 256;  // floats
};

}  // namespace sluice
