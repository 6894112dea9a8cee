// Windows that slide over the spatial axes of a tensor [N, C, spatial...], used by convolutions and
// pooling.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/eval/axes.h"
#include "common/eval/call.h"

namespace sluice::eval {

struct Window {
  std::vector<int64_t> in;  // spatial extents
  std::vector<int64_t> kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> begin;  // padding before
  std::vector<int64_t> end;    // padding after
  std::vector<int64_t> out;

  size_t rank() const { return in.size(); }
  int64_t in_size() const { return product(in); }
  int64_t out_size() const { return product(out); }
  int64_t taps() const { return product(kernel); }
};

// Makes the window from the attributes strides, dilations, pads, auto_pad and ceil_mode of the
// node.
Result<Window> make_window(const EvalCall& call, std::span<const int64_t> in,
                           std::vector<int64_t> kernel);

// Computes the flat input index of each tap of the window at output position `position`
// (row-major), taps in row-major order; -1 in the padding.
void window_taps(const Window& window, int64_t position, int64_t* taps);
// Appends the indices of the taps inside the input, in the same order; the cost does not depend on
// the extent of the kernel.
void add_taps_inside(const Window& window, int64_t position, std::vector<int64_t>& indices);
// Returns the number of taps inside the input or its padding (ceil_mode lets windows extend
// beyond).
int64_t taps_inside_padding(const Window& window, int64_t position);

}  // namespace sluice::eval
