// Operators between images and blocks of pixels: DepthToSpace, SpaceToDepth, Col2Im.
#include "common/loop/lower/families.h"
#include "common/loop/lower/operands.h"
#include "common/loop/lower/reasons.h"
#include "common/ops/attributes.h"

namespace sluice::loop {
namespace {

using Id = InstructionId;

// A pixel of an image whose pixels lie in blocks: channel c of pixel (i, k) of block (h, w).
struct Pixel {
  ExpressionId n, c, h, i, w, k;
};

// The index of a pixel where the block's pixels lie side by side.
Index in_space(Lowering& l, const Pixel& pixel, ExpressionId block) {
  ExpressionTable& table = l.table();
  return {pixel.n, pixel.c, table.add(table.multiply(pixel.h, block), pixel.i),
          table.add(table.multiply(pixel.w, block), pixel.k)};
}

// The index of a pixel where the block's pixels are channels: outside of the image's `channels`, or
// inside.
Index in_depth(Lowering& l, const Pixel& pixel, ExpressionId block, ExpressionId channels,
               bool outside) {
  const ExpressionId channel =
      outside ? l.flatten({pixel.i, pixel.k, pixel.c}, {block, block, channels})
              : l.flatten({pixel.c, pixel.i, pixel.k}, {channels, block, block});
  return {pixel.n, channel, pixel.h, pixel.w};
}

// The inverse of in_space. The number of blocks does not matter for it.
Pixel pixel_in_space(Lowering& l, const Index& index, ExpressionId block) {
  const Index row = l.unflatten(index[2], {-1, block});
  const Index column = l.unflatten(index[3], {-1, block});
  return {index[0], index[1], row[0], row[1], column[0], column[1]};
}

ExpressionId block_of(Lowering& l, const Node& node) {
  return l.number(node.get(attributes::SpaceToDepth::blocksize));
}

bool is_outside(const Node& node) { return node.get(attributes::DepthToSpace::mode) != "CRD"; }

// All pixels, in loops that need no division. `image` is the value where blocks are side by side.
Pixel begin_pixels(Lowering& l, const Value& image, const Value& blocks, ExpressionId block) {
  const Index at = l.begin_nest({l.extent(image, 0), l.extent(image, 1), l.extent(blocks, 2), block,
                                 l.extent(blocks, 3), block});
  return {at[0], at[1], at[2], at[3], at[4], at[5]};
}

Result<Id> depth_to_space(Lowering& l, const Node& node, size_t, const Index& index) {
  const ExpressionId block = block_of(l, node);
  return l.element(*node.input(0), in_depth(l, pixel_in_space(l, index, block), block,
                                            l.extent(node.output(), 1), is_outside(node)));
}

Result<void> depth_to_space_nests(Lowering& l, const Node& node) {
  const Value& x = *node.input(0);
  const ExpressionId block = block_of(l, node);
  const Pixel pixel = begin_pixels(l, node.output(), x, block);
  SLUICE_ASSIGN(const Id element, l.element(x, in_depth(l, pixel, block, l.extent(node.output(), 1),
                                                        is_outside(node))));
  return l.give(node, 0, in_space(l, pixel, block), element);
}

Result<Id> space_to_depth(Lowering& l, const Node& node, size_t, const Index& index) {
  const Value& x = *node.input(0);
  const ExpressionId block = block_of(l, node);
  const Index channel = l.unflatten(index[1], {block, block, l.extent(x, 1)});
  const Pixel pixel{index[0], channel[2], index[2], channel[0], index[3], channel[1]};
  return l.element(x, in_space(l, pixel, block));
}

Result<void> space_to_depth_nests(Lowering& l, const Node& node) {
  const Value& x = *node.input(0);
  const ExpressionId block = block_of(l, node);
  const Pixel pixel = begin_pixels(l, x, node.output(), block);
  SLUICE_ASSIGN(const Id element, l.element(x, in_space(l, pixel, block)));
  return l.give(node, 0, in_depth(l, pixel, block, l.extent(x, 1), true), element);
}

// ---- Col2Im

struct Windows {
  std::vector<int64_t> block, strides, dilations, pads;

  size_t rank() const { return block.size(); }
};

Windows windows_of(const Node& node) {
  Windows windows{*Lowering::integers(node, 2), {}, {}, {}};
  const size_t rank = windows.rank();
  windows.strides = node.get(attributes::Strided::strides, rank);
  windows.dilations = node.get(attributes::Dilated::dilations, rank);
  windows.pads = node.get(attributes::Strided::pads, 2 * rank);
  return windows;
}

// The number of windows along a spatial axis.
ExpressionId window_count(Lowering& l, const Node& node, const Windows& windows, size_t axis) {
  const int64_t reach = windows.dilations[axis] * (windows.block[axis] - 1) + 1;
  const int64_t pads = windows.pads[axis] + windows.pads[windows.rank() + axis];
  const ExpressionId free =
      l.table().add(l.extent(node.output(), axis + 2), l.number(pads - reach));
  return l.table().add(l.table().floor_divide(free, l.number(windows.strides[axis])), l.number(1));
}

// Sums what the windows say about a pixel: along each axis, tap t of window p is there where
// p * stride + t * dilation - pad is the pixel's place.
Result<void> col2im(Lowering& l, const Node& node) {
  const Value& x = *node.input(0);
  const Windows windows = windows_of(node);
  ExpressionTable& table = l.table();
  const Index index = l.begin_nest(l.extents(node.output()));
  Index taps, counts, positions;
  for (const int64_t extent : windows.block) taps.push_back(l.number(extent));
  const Index tap = l.begin_sweep(taps);
  std::vector<Guard> guards;
  for (size_t i = 0; i < windows.rank(); ++i) {
    const ExpressionId moved = table.multiply(tap[i], l.number(windows.dilations[i]));
    const ExpressionId from =
        table.subtract(table.add(index[i + 2], l.number(windows.pads[i])), moved);
    const ExpressionId stride = l.number(windows.strides[i]);
    counts.push_back(window_count(l, node, windows, i));
    positions.push_back(table.floor_divide(from, stride));
    guards.push_back({positions[i], counts[i]});
    if (windows.strides[i] != 1) guards.push_back({table.modulo(from, stride), l.number(1)});
  }
  Index channel = {index[1]}, channels = {l.number(1)};
  channel.insert(channel.end(), tap.begin(), tap.end());
  channels.insert(channels.end(), taps.begin(), taps.end());
  const Index own = {index[0], l.flatten(channel, channels), l.flatten(positions, counts)};
  const Index covered = {l.extent(x, 0), l.extent(x, 1), l.product(counts)};
  for (const Guard& guard : within(l, x, own, covered)) guards.push_back(guard);
  SLUICE_ASSIGN(const Id element, l.element_if(x, own, std::move(guards)));
  const AccumulatorId sum = l.accumulate(Combine::kSum, l.integer(l.dtype_of(element), 0), element);
  l.begin_sweep({});
  return l.give(node, 0, index, l.value_of(sum));
}

std::string col2im_reason(const Node& node) {
  if (!Lowering::integers(node, 2)) return "the block is known only while running";
  return needs_numbers(node);
}

constexpr LoweringRow kRows[] = {
    {Op::kDepthToSpace, nullptr, depth_to_space, depth_to_space_nests},
    {Op::kSpaceToDepth, nullptr, space_to_depth, space_to_depth_nests},
    {Op::kCol2Im, col2im_reason, nullptr, col2im},
};

}  // namespace

std::span<const LoweringRow> blocks_rows() { return kRows; }

}  // namespace sluice::loop
