// The plans of depthwise and direct convolutions, and the choice between the kinds. No LLVM is
// needed.
#include <vector>

#include "fmt/format.h"
#include "stages/subgraph-optimize/codegen/ceil_div.h"
#include "stages/subgraph-optimize/codegen/conv/direct_geometry.h"
#include "stages/subgraph-optimize/codegen/cost.h"

namespace sluice {
namespace {

constexpr int64_t kMaxKernel = 16;  // kernel rows or columns that are written out
constexpr int64_t kMaxJoined = 8;   // phases of a row whose elements are joined in registers

// Vectors of planes begin at any column, and their addresses differ from row to row.
TileOperands plane_operands(const DeviceProfile& profile) {
  return {1.5, profile.vector_registers / 16};
}

// Returns the channels of a group's output, of one phase.
int64_t group_result_channels(const ConvSpec& s) { return result_channels(s) / s.groups; }

// Returns the cycles of all tiles of one group, or phase of one, over `positions` output pixels.
double tiles_cycles(const ConvSpec& s, const RegisterTile& tile, int64_t positions,
                    const DeviceProfile& profile) {
  const int64_t channels = group_result_channels(s),
                reduction = s.ci / s.groups * kernel_positions(s);
  const int64_t pixels = int64_t{tile.vectors} * tile.lanes;
  const auto cycles_of = [&](int vectors, int rows) {
    return tile_cycles({tile.lanes, vectors, rows}, reduction, plane_operands(profile), profile);
  };
  const auto along_pixels = [&](int rows) {
    const double whole = static_cast<double>(positions / pixels) * cycles_of(tile.vectors, rows);
    const int64_t remainder = positions % pixels;
    return remainder == 0
               ? whole
               : whole + cycles_of(static_cast<int>(ceil_div(remainder, tile.lanes)), rows);
  };
  double cycles = static_cast<double>(channels / tile.rows) * along_pixels(tile.rows);
  if (channels % tile.rows > 0) cycles += along_pixels(static_cast<int>(channels % tile.rows));
  return cycles;
}

// Returns the cycles that prepare the planes of one group for one chunk.
double plane_cycles(const ConvSpec& s, const DirectGeometry& geometry,
                    const DeviceProfile& profile) {
  if (geometry.in_place) return 0;
  const int lanes = profile.vector_bits / 32;
  const double vectors = static_cast<double>(ceil_div(geometry.columns(s), lanes));
  const double access = static_cast<double>(profile.costs.access) / 100;
  // Vectors without masks are copied in pieces.
  const double pieces = profile.vector_bits >= 256 ? 1 : 1.5;
  const double row = access * (6 + vectors * (1 + 1.5 * static_cast<double>(s.stride_w)) * pieces);
  return row *
         static_cast<double>(geometry.planes(s) * static_cast<int64_t>(geometry.phases.size()) *
                             geometry.plane_rows());
}

bool has_phases(const ConvSpec& s) { return s.phases.count() > 1; }

// Returns the floats of the phases of a channel tile.
int64_t phase_floats(const ConvSpec& s, const DirectGeometry& geometry, int64_t tile_rows) {
  return has_phases(s) ? s.phases.count() * tile_rows * geometry.chunk_rows * geometry.columns(s) +
                             DirectGeometry::kPastEnd
                       : 0;
}

// Returns the floats of a chunk that should stay in the second cache. Of phases, the input is read
// again for every channel tile.
int64_t chunk_floats(const ConvSpec& s, int64_t rows, const DeviceProfile& profile) {
  const DirectGeometry geometry(s, rows);
  const int64_t input = has_phases(s) && geometry.in_place ? s.ci / s.groups * rows * s.ow.nominal
                                                           : geometry.scratch_floats(s);
  return input + phase_floats(s, geometry, profile.vector_registers);
}

int64_t choose_chunk_rows(const ConvSpec& s, const DeviceProfile& profile) {
  const double lanes = profile.vector_bits / 32;
  const double cycles = static_cast<double>(s.n.nominal * output_pixels(s).nominal * s.co) *
                        static_cast<double>(s.ci / s.groups * kernel_positions(s)) / lanes;
  const int64_t wanted = count_blocks(cycles, kMaxContractionBlocks, profile);
  const int64_t slices = s.n.nominal * s.groups * s.depth.out.nominal;
  int64_t rows = ceil_div(s.oh.nominal, std::clamp<int64_t>(wanted / slices, 1, s.oh.nominal));
  const DirectGeometry one(s, 1);
  // Neighbouring chunks both prepare max_shift rows, so a chunk has at least twice as many.
  rows = std::min(s.oh.nominal, std::max(rows, 2 * one.max_shift));
  const int64_t limit = std::min(profile.scratch_limit, profile.l2_bytes / 2) / 4;
  while (rows > 1 && chunk_floats(s, rows, profile) > limit) rows = ceil_div(rows, 2);
  return ceil_div(s.oh.nominal, ceil_div(s.oh.nominal, rows));
}

// Chooses the tile that is best on average for chunks of these numbers of output pixels.
void choose_direct_tile(const ConvSpec& s, const std::vector<int64_t>& chunks,
                        const DeviceProfile& profile, DirectConvPlan& plan) {
  const int64_t channels = group_result_channels(s);
  // Narrower vectors pay only where they leave no remainder.
  const int full = profile.vector_bits / 32, minimum = chunks.size() == 1 ? 4 : full;
  for (int lanes = full; lanes >= minimum; lanes /= 2) {
    for (int vectors = 1; vectors <= 8; ++vectors) {
      for (int rows = 1; rows <= channels; ++rows) {
        const RegisterTile tile{lanes, vectors, rows};
        if (!fits_registers(tile, plane_operands(profile), profile)) break;
        double cycles = 0;
        for (const int64_t positions : chunks) cycles += tiles_cycles(s, tile, positions, profile);
        cycles /= static_cast<double>(chunks.size());
        if (plan.rows > 0 && cycles >= plan.cycles) continue;
        plan.lanes = lanes, plan.vectors = vectors, plan.rows = rows;
        plan.cycles = cycles;
      }
    }
  }
}

// Bounds the chunks so that symbolic sizes stay within the scratch whatever they are when the
// kernel runs.
void bound_chunks(const ConvSpec& spec, const DirectGeometry& geometry,
                  const DeviceProfile& profile, DirectConvPlan& plan) {
  const int64_t shift = geometry.max_shift;
  plan.phase_floats = geometry.max_phase_floats(spec, profile.scratch_limit);
  if (spec.ow.is_fixed()) {
    const int64_t rows = std::min(std::max(plan.chunk_rows, geometry.min_rows()),
                                  plan.phase_floats / spec.ow.factor - shift);
    plan.possible = plan.possible && rows >= 1;
    plan.phase_floats = std::max<int64_t>(rows + shift, 0) * spec.ow.factor;
  } else {
    const int64_t columns = plan.phase_floats / (1 + shift),
                  pixels = int64_t{plan.lanes} * plan.vectors;
    plan.possible = plan.possible && columns >= 1;
    plan.piece_columns = columns < pixels ? columns : columns / pixels * pixels;
  }
  plan.scratch_bytes = geometry.spread_scratch_bytes(spec, plan.phase_floats);
}

// Estimates a copy to another format. One channel has the same bytes in both.
double format_cycles(int64_t elements, int64_t channels, const DeviceProfile& profile) {
  return channels == 1 ? 0 : copy_cycles(elements, profile);
}

// Returns the convolution with its nominal sizes, at least 1, in place of symbolic ones.
ConvSpec at_nominal(ConvSpec s) {
  for (Extent* extent : {&s.n, &s.depth.in, &s.h, &s.w, &s.depth.out, &s.oh, &s.ow})
    *extent = std::max<int64_t>(extent->nominal, 1);
  return s;
}

// Planes are one column apart where phases read shifted rows.
bool can_have_phases(const ConvSpec& s) {
  return s.phases.count() == 1 ||
         (is_fixed(s) && s.dilation_w == 1 && s.dilation_h == 1 && s.phases.w <= kMaxJoined);
}

}  // namespace

Result<void> check_conv(const ConvSpec& s) {
  const ConvDepth& d = s.depth;
  for (int64_t size : {s.n.factor, s.h.factor, s.w.factor, s.ci, s.oh.factor, s.ow.factor, s.co,
                       s.kh, s.kw, s.stride_h, s.stride_w, s.dilation_h, s.dilation_w, s.groups,
                       d.in.factor, d.out.factor, d.kernel, d.stride, d.dilation}) {
    if (size < 1)
      return make_error(ErrorCode::kCodegen,
                        "conv has a size, stride or dilation of {}, at least 1 is needed", size);
  }
  if (s.ci % s.groups != 0 || s.co % (s.groups * s.phases.count()) != 0) {
    return make_error(ErrorCode::kCodegen,
                      "conv with {} groups: {} input and {} output channels cannot be divided",
                      s.groups, s.ci, s.co);
  }
  return {};
}

DirectConvPlan choose_direct_plan(const ConvSpec& spec, const DeviceProfile& profile) {
  const ConvSpec s = at_nominal(spec);
  DirectConvPlan plan;
  plan.chunk_rows = choose_chunk_rows(s, profile);
  plan.chunks = ceil_div(s.oh.nominal, plan.chunk_rows);
  const DirectGeometry geometry(s, plan.chunk_rows);
  plan.possible = can_have_phases(spec) && s.kh <= kMaxKernel && s.kw <= kMaxKernel &&
                  s.stride_w <= 8 && s.x_pixel_stride == 0 && s.y_pixel_stride == 0;
  const int64_t positions = plan.chunk_rows * geometry.columns(s);
  // A symbolic width fills chunks more or less; half of the weight is on the nominal width.
  std::vector<int64_t> sizes(is_fixed(spec) ? 1 : 8, positions);
  for (int64_t part = 8; part < 16 && !is_fixed(spec); ++part)
    sizes.push_back(ceil_div(positions * part, 16));
  choose_direct_tile(s, sizes, profile, plan);
  plan.scratch_bytes =
      static_cast<uint64_t>(geometry.scratch_floats(s) + phase_floats(s, geometry, plan.rows)) * 4;
  if (plan.scratch_bytes > static_cast<uint64_t>(profile.scratch_limit)) plan.possible = false;
  if (!is_fixed(spec) && !geometry.in_place) bound_chunks(spec, geometry, profile, plan);
  int64_t items = s.n.nominal * s.groups * s.depth.out.nominal * plan.chunks;
  plan.cycles *= static_cast<double>(items * s.phases.count());
  if (has_phases(s)) {
    plan.cycles += copy_cycles(s.n.nominal * s.co * output_pixels(s).nominal, profile);
    plan.parts =
        std::clamp<int64_t>(count_blocks(plan.cycles, kMaxContractionBlocks, profile) / items, 1,
                            ceil_div(group_result_channels(s), plan.rows));
    items *= plan.parts;
  }
  plan.cycles += plane_cycles(s, geometry, profile) * static_cast<double>(items);
  plan.blocks = is_fixed(spec) ? count_blocks(plan.cycles, items, profile) : kMaxContractionBlocks;
  return plan;
}

DepthwisePlan choose_depthwise_plan(const ConvSpec& spec, const DeviceProfile& profile) {
  const ConvSpec s = at_nominal(spec);
  DepthwisePlan plan;
  plan.possible = !is_3d(s) && is_fixed(s) && s.groups == s.ci && s.groups == s.co &&
                  s.phases.count() == 1 && s.kw <= kMaxKernel && s.x_pixel_stride == 0 &&
                  s.y_pixel_stride == 0;
  plan.lanes = profile.vector_bits / 32;
  while (plan.lanes > 4 && s.co <= plan.lanes / 2) plan.lanes /= 2;
  const int64_t channel_vectors = ceil_div(s.co, plan.lanes);
  plan.vectors = static_cast<int>(std::min<int64_t>(channel_vectors, 2));
  plan.nr = channel_vectors * plan.lanes;
  const int64_t maximum =
      max_rows(plan.lanes, plan.vectors, {1, profile.vector_registers / 8}, profile);
  const bool has_known_width = spec.w.is_fixed() && spec.ow.is_fixed();
  plan.pixels = static_cast<int>(
      has_known_width ? ceil_div(s.ow.nominal, ceil_div(s.ow.nominal, maximum)) : maximum);
  const double taps = static_cast<double>(s.kh * s.kw);
  const double per_vector =
      taps * (profile.fused_multiply_add ? multiply_add_cycles(plan.lanes, profile) * 1.2 : 1.0) +
      4;
  plan.cycles =
      static_cast<double>(s.n.nominal * s.oh.nominal * s.ow.nominal * channel_vectors) * per_vector;
  const int64_t items = s.n.nominal * s.oh.nominal * ceil_div(channel_vectors, plan.vectors);
  plan.blocks = is_fixed(spec) ? count_blocks(plan.cycles, items, profile) : kMaxContractionBlocks;
  return plan;
}

ConvKind choose_conv_kind(const ConvSpec& spec, const DeviceProfile& profile,
                          const ConvStorage& stored) {
  const ConvSpec s = at_nominal(spec);
  const double copy_x = format_cycles(s.n.nominal * s.ci * input_pixels(s).nominal, s.ci, profile),
               copy_y = format_cycles(s.n.nominal * s.co * output_pixels(s).nominal, s.co, profile);
  const StorageMap dense = dense_map(stored.x.size()), nhwc = nhwc_map(stored.x.size());
  const auto copies_to = [&](const StorageMap& map) {
    return (stored.x == map ? 0 : copy_x) + (stored.y == map ? 0 : copy_y);
  };
  const DepthwisePlan depthwise = choose_depthwise_plan(spec, profile);
  const double by_channels =
      depthwise.possible ? depthwise.cycles : choose_conv_plan(spec, profile).cycles;
  const DirectConvPlan direct = choose_direct_plan(spec, profile);
  if (direct.possible && direct.cycles + copies_to(dense) < by_channels + copies_to(nhwc))
    return ConvKind::kDirect;
  return depthwise.possible ? ConvKind::kDepthwise : ConvKind::kContraction;
}

std::string canonical_text(const DepthwiseSpec& spec) {
  return "depthwise " + canonical_text(spec.conv);
}
std::string canonical_text(const DirectConvSpec& spec) {
  return (spec.conv.ow.is_fixed() ? "direct " : "direct-any-width ") + canonical_text(spec.conv);
}

}  // namespace sluice
