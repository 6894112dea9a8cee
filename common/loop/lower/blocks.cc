// Operators between images and blocks of pixels: DepthToSpace, SpaceToDepth, Col2Im; and
// Interleave.
#include "common/loop/lower/families.h"
#include "common/loop/lower/operands.h"
#include "common/loop/lower/reasons.h"
#include "common/ops/attributes.h"

namespace sluice::loop {
namespace {

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

// ---- Interleave

struct Interleaving {
  std::vector<int64_t> strides, pads;
  int64_t phases = 1;
};

Interleaving interleaving_of(const Node& node) {
  const size_t rank = node.output().type().dims.size() - 2;
  Interleaving own{node.get(attributes::Strided::strides, rank),
                   node.get(attributes::Strided::pads, 2 * rank)};
  for (const int64_t stride : own.strides) own.phases *= stride;
  return own;
}

// What a nest over all phases walks along a spatial axis: positions and phases from these on.
struct PhaseRange {
  ExpressionId positions, phases;
  int64_t first_position = 0, first_phase = 0;
  bool is_guarded = false;  // some of them are cut off
};

PhaseRange range_of(Lowering& l, const Node& node, const Interleaving& own, size_t axis) {
  const int64_t stride = own.strides[axis], begin = own.pads[axis],
                end = own.pads[own.strides.size() + axis];
  const ExpressionId all = l.extent(*node.input(0), axis + 2);
  if (stride == 1) return {l.table().subtract(all, l.number(begin + end)), l.number(1), begin};
  // What follows reads a single element at 0.
  if (node.output().type().dims[axis + 2] == Dim::fixed(1))
    return {l.number(1), l.number(1), begin / stride, begin % stride};
  return {all, l.number(stride), 0, 0, begin > 0 || end > 0};
}

// The phases are channels of one input:
//
//   for n, g, c < C, position in the phases, phase:
//     y[n, g * C + c, position * stride + phase - pad] =
//         x[n, (g * phases + phase) * C + c, position]
Result<void> interleave_channels(Lowering& l, const Node& node, const Interleaving& own) {
  const Value &x = *node.input(0), &y = node.output();
  ExpressionTable& table = l.table();
  const ExpressionId groups = l.number(node.get(attributes::Interleave::group));
  const ExpressionId channels = table.floor_divide(l.extent(y, 1), groups);
  Index extents = {l.extent(y, 0), groups, channels};
  std::vector<PhaseRange> ranges;
  for (size_t i = 0; i < own.strides.size(); ++i) {
    ranges.push_back(range_of(l, node, own, i));
    extents.insert(extents.end(), {ranges[i].positions, ranges[i].phases});
  }
  const Index at = l.begin_nest(extents);
  Index from = {at[0], -1}, to = {at[0], l.flatten({at[1], at[2]}, {groups, channels})};
  ExpressionId phase = at[1];
  std::vector<Guard> guards;
  for (size_t i = 0; i < own.strides.size(); ++i) {
    const ExpressionId stride = l.number(own.strides[i]);
    const ExpressionId r = table.add(at[2 * i + 4], l.number(ranges[i].first_phase));
    phase = table.add(table.multiply(phase, stride), r);
    from.push_back(table.add(at[2 * i + 3], l.number(ranges[i].first_position)));
    to.push_back(
        table.subtract(table.add(table.multiply(from.back(), stride), r), l.number(own.pads[i])));
    if (ranges[i].is_guarded) guards.push_back({to.back(), l.extent(y, i + 2)});
  }
  from[1] = table.add(table.multiply(phase, channels), at[2]);
  SLUICE_ASSIGN(const Id element, l.element(x, from));
  return l.give(node, 0, to, element, std::move(guards));
}

// The elements of a phase along a spatial axis that are not cut off.
struct PhasePart {
  int64_t skipped = 0, dropped = 0;  // at the begin and the end
  int64_t first = 0;                 // where the first one that is left goes
};

int64_t ceil_divided(int64_t a, int64_t b) { return a > 0 ? (a + b - 1) / b : 0; }

PhasePart part_of(const Interleaving& own, size_t axis, int64_t r) {
  const int64_t stride = own.strides[axis], begin = own.pads[axis],
                end = own.pads[own.strides.size() + axis];
  PhasePart part{ceil_divided(begin - r, stride), ceil_divided(end - (stride - 1 - r), stride)};
  part.first = part.skipped * stride + r - begin;
  return part;
}

// Lays out one nest for the elements of one phase; x is null when they are zeros:
//
//   for n, c, i < what is not cut off: y[n, c, i * stride + first] = x[n, c, i + skipped]
Result<void> interleave_phase(Lowering& l, const Node& node, const Interleaving& own,
                              const Value* x, int64_t phase) {
  const Value& like = *node.input(0);
  ExpressionTable& table = l.table();
  std::vector<PhasePart> parts(own.strides.size());
  for (size_t i = parts.size(); i-- > 0; phase /= own.strides[i])
    parts[i] = part_of(own, i, phase % own.strides[i]);
  Index extents = {l.extent(like, 0), l.extent(like, 1)};
  for (size_t i = 0; i < parts.size(); ++i)
    extents.push_back(
        table.subtract(l.extent(like, i + 2), l.number(parts[i].skipped + parts[i].dropped)));
  const Index at = l.begin_nest(extents);
  Index from = at, to = at;
  for (size_t i = 0; i < parts.size(); ++i) {
    from[i + 2] = table.add(at[i + 2], l.number(parts[i].skipped));
    to[i + 2] =
        table.add(table.multiply(at[i + 2], l.number(own.strides[i])), l.number(parts[i].first));
  }
  Id element = l.integer(register_dtype(node.output().type().dtype), 0);
  if (x != nullptr) {
    SLUICE_ASSIGN(element, l.element(*x, from));
  }
  // A phase without elements would give them elsewhere than a single one is read.
  return l.give(node, 0, l.broadcast(node.output(), to), element);
}

Result<void> interleave(Lowering& l, const Node& node) {
  const Interleaving own = interleaving_of(node);
  if (node.input_count() == 1) return interleave_channels(l, node, own);
  for (int64_t phase = 0; phase < own.phases; ++phase)
    SLUICE_TRY(interleave_phase(l, node, own, node.input(static_cast<size_t>(phase)), phase));
  return {};
}

std::string interleave_reason(const Node& node) {
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (node.input(i) != nullptr && node.input(i)->type().dims != node.input(0)->type().dims)
      return "its phases may have different sizes";
  }
  return {};
}

constexpr LoweringRow kBlocksRows[] = {
    {Op::kDepthToSpace, nullptr, depth_to_space, depth_to_space_nests},
    {Op::kSpaceToDepth, nullptr, space_to_depth, space_to_depth_nests},
    {Op::kCol2Im, col2im_reason, nullptr, col2im},
    {Op::kInterleave, interleave_reason, nullptr, interleave},
};

}  // namespace

std::span<const LoweringRow> blocks_rows() { return kBlocksRows; }

}  // namespace sluice::loop
