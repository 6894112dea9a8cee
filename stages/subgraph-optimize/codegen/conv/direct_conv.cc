// Direct convolution on dense tensors: the loops around its tiles (direct_tile.h) and its planes
// (direct_planes.h).
#include <algorithm>

#include "stages/subgraph-optimize/codegen/ceil_div.h"
#include "stages/subgraph-optimize/codegen/conv/conv_kinds.h"
#include "stages/subgraph-optimize/codegen/conv/direct_cut.h"
#include "stages/subgraph-optimize/codegen/conv/direct_planes.h"
#include "stages/subgraph-optimize/codegen/conv/direct_tile.h"
#include "stages/subgraph-optimize/codegen/conv/phase_join.h"
#include "stages/subgraph-optimize/codegen/conv/phase_places.h"
#include "stages/subgraph-optimize/codegen/cost.h"
#include "stages/subgraph-optimize/codegen/emit/elements.h"
#include "stages/subgraph-optimize/codegen/emit/object_emitter.h"

namespace sluice {
namespace {

using llvm::Value;

// Emits the kernel:
//
//   for item in the block's (image, group, output slice, chunk of output rows), chunk fastest:
//     for ci, kd: planes[ci][kd] = rows of x[image][group][ci][slice under kd]; none when x is read
//       in place
//     for pixel tile of lanes * vectors output pixels of the chunk, over row ends:
//       for channel tile of plan.rows output channels of the group: call the tile
//
// Phases of a transposed convolution are computed into scratch, and their elements then put into
// their places:
//
//       for channel tile of the item's part of them:
//         for phase: for pixel tile: call the tile
//         for channel: join its phases (phase_join.h)
//
// With fixed sizes the chunks are the plan's, and all sizes of one are constants. A symbolic kernel
// computes the chunks' sizes first; where rows may be too wide for the scratch, an item is a piece
// of a row of the chunk as well, piece fastest.
class DirectEmitter {
 public:
  DirectEmitter(const ConvSpec& spec, const DeviceProfile& profile, const DirectConvPlan& plan)
      : s_(spec),
        b_(profile),
        plan_(plan),
        in_memory_(b_, spec.dtype),
        stored_(b_, spec.epilogue.stored(DType::kF32)),
        geometry_(spec, plan.chunk_rows),
        channels_(result_channels(spec) / spec.groups) {}

  Result<GeneratedKernel> emit(const std::string& entry) {
    const DirectOutput output = has_phases() ? DirectOutput{&no_epilogue_, phase_positions()}
                                             : DirectOutput{&s_.epilogue, output_pixels(s_)};
    DirectTiles tiles(b_, s_, plan_, geometry_, output,
                      direct_tiles(s_, plan_, geometry_, b_.has_masks()));
    tiles_ = &tiles;
    if (has_phases())
      join_ = emit_phase_join(b_, s_, geometry_.columns(s_), plan_.rows * phase_positions());
    if (!geometry_.in_place) copy_ = emit_plane_copy(b_, s_, geometry_, cuts_rows());
    begin(entry);
    if (is_fixed(s_)) {
      emit_chunks(planned_cut(b_, s_, plan_, geometry_));
    } else {
      Value* minimum = b_.min(b_.min(b_.value(s_.n), b_.value(s_.depth.out)),
                              b_.min(b_.value(s_.oh), b_.value(s_.ow)));
      b_.if_else(
          b_.ir().CreateICmpSGT(minimum, b_.index(0)),
          [&] { emit_chunks(computed_cut(b_, s_, plan_, geometry_)); }, [] {});
    }
    b_.ret_void();
    SLUICE_ASSIGN(GeneratedKernel kernel, b_.finish(entry, {.knows_target = !is_fixed(s_)}));
    kernel.cycles = plan_.cycles;
    kernel.blocks = plan_.blocks;
    kernel.scratch_bytes = plan_.scratch_bytes;
    kernel.multiply_adds = s_.n * output_pixels(s_) * (s_.co * reduction());
    if (!is_fixed(s_))
      kernel.multiply_adds_per_block =
          multiply_adds_per_block(kernel.multiply_adds, plan_.cycles, b_.profile());
    return kernel;
  }

 private:
  void begin(const std::string& entry) {
    b_.begin_kernel(entry);
    if (!is_fixed(s_)) b_.set_symbols(b_.symbols_argument());
    y_ = b_.pointer_argument(0);
    x_ = b_.pointer_argument(1);
    weights_ = b_.pointer_argument(2);
    operands_ = b_.pointer_arguments(3, s_.epilogue.operands.size());
  }

  int64_t reduction() const { return s_.ci / s_.groups * kernel_positions(s_); }
  bool has_phases() const { return s_.phases.count() > 1; }
  // Returns the floats from one channel of a phase in scratch to the next.
  int64_t phase_positions() const { return plan_.chunk_rows * geometry_.columns(s_); }
  // Returns whether rows are cut into pieces: a width known only when the kernel runs may be too
  // wide for the scratch.
  bool cuts_rows() const { return plan_.piece_columns > 0; }

  void emit_chunks(const DirectCut& cut) {
    for_each_chunk(b_, s_, plan_, cut, [&](const DirectChunk& chunk) { emit_chunk(chunk); });
  }

  void emit_chunk(const DirectChunk& chunk) {
    Value* planes =
        geometry_.in_place ? in_memory_.at(input(chunk), chunk.first_pixel) : copied_planes(chunk);
    if (has_phases()) return emit_phases(chunk, planes);
    for_each_pixel_tile(b_, plan_, chunk, [&](Value* pixel, const DirectTile& tile, Value* active) {
      emit_channels(chunk, planes, pixel, tile, active);
    });
  }

  // Returns the first input channel of the chunk's group.
  Value* input(const DirectChunk& chunk) {
    Value* channel = b_.add(b_.mul(chunk.image, s_.ci), b_.mul(chunk.group, s_.ci / s_.groups));
    return in_memory_.at(x_, b_.mul(channel, input_pixels(s_)));
  }

  // Copies the chunk's input into scratch.
  Value* copied_planes(const DirectChunk& chunk) {
    Value *x = input(chunk), *planes = b_.scratch();
    Value* plane_rows = b_.add(chunk.rows, b_.index(geometry_.max_shift));
    Value* top = b_.add(b_.mul(chunk.first_row, s_.stride_h), b_.index(-s_.pad_top));
    b_.loop(b_.index(0), b_.index(s_.ci / s_.groups), 1, [&](Value* ci) {
      Value* channel = in_memory_.at(x, b_.mul(ci, input_pixels(s_)));
      const auto copy = [&](Value* kd) {
        Value* number = b_.add(b_.mul(ci, s_.depth.kernel), kd);
        Value* to =
            b_.at(planes, b_.mul(b_.mul(number, chunk.layout.plane), geometry_.slice_planes(s_)));
        IrValues arguments = slice_of(chunk, channel, kd, top);
        arguments.insert(arguments.begin() + 1, to);
        arguments.push_back(plane_rows);
        add_layout(chunk, arguments);
        b_.ir().CreateCall(copy_, arguments);
      };
      if (s_.depth.kernel == 1) return copy(b_.index(0));
      b_.loop(b_.index(0), b_.index(s_.depth.kernel), 1, copy);
    });
    return planes;
  }

  // Returns the input slice under kd, and the first of its rows. In place of a slice outside of the
  // image it is rows below the first one.
  IrValues slice_of(const DirectChunk& chunk, Value* channel, Value* kd, Value* top) {
    if (!is_3d(s_)) return {channel, top};
    Value* first = b_.add(b_.mul(chunk.slice, s_.depth.stride), b_.index(-s_.depth.pad));
    Value* id = b_.add(first, b_.mul(kd, s_.depth.dilation));
    Value* is_inside = b_.ir().CreateICmpULT(id, b_.value(s_.depth.in));
    Value* slice = b_.ir().CreateSelect(is_inside, id, b_.index(0));
    return {in_memory_.at(channel, b_.mul(slice, s_.h * s_.w)),
            b_.ir().CreateSelect(is_inside, top, b_.value(s_.h))};
  }

  void add_layout(const DirectChunk& chunk, IrValues& arguments) {
    if (is_fixed(s_)) return;
    Value* first_column = chunk.first_column ? chunk.first_column : b_.index(0);
    arguments.insert(arguments.end(), {b_.symbols(), chunk.layout.columns, chunk.layout.phase,
                                       chunk.layout.plane, first_column});
  }

  // Calls the tiles of all output channels of the group over one tile of pixels.
  void emit_channels(const DirectChunk& chunk, Value* planes, Value* pixel, DirectTile tile,
                     Value* active) {
    const int64_t whole = channels_ / plan_.rows;
    Value* at = b_.at(planes, pixel);
    Value* column = b_.add(chunk.first_pixel, pixel);
    const auto call = [&](Value* number, int rows) {
      tile.rows = rows;
      DirectTileCall call = call_of(chunk, number, column);
      call.planes = at, call.active = active;
      tiles_->call(tile, call);
    };
    b_.loop(b_.index(0), b_.index(whole), 1, [&](Value* number) { call(number, plan_.rows); });
    if (channels_ % plan_.rows != 0)
      call(b_.index(whole), static_cast<int>(channels_ % plan_.rows));
  }

  // Emits the chunk's part of the channels of all phases.
  void emit_phases(const DirectChunk& chunk, Value* planes) {
    const int64_t whole = channels_ / plan_.rows, tiles = ceil_div(channels_, plan_.rows);
    const auto [first, last] = b_.partition(tiles, chunk.part, plan_.parts);
    const auto emit = [&](Value* number, int rows) {
      b_.loop(b_.index(0), b_.index(s_.phases.count()), 1,
              [&](Value* phase) { emit_phase(chunk, planes, number, rows, phase); });
      join_phases(chunk, number, rows);
    };
    b_.loop(first, b_.min(last, b_.index(whole)), 1,
            [&](Value* number) { emit(number, plan_.rows); });
    if (whole == tiles) return;
    // This loop runs once in the last part, and never in the others.
    b_.loop(b_.max(first, b_.index(whole)), last, 1,
            [&](Value* number) { emit(number, static_cast<int>(channels_ % plan_.rows)); });
  }

  Value* phase_sums() {
    return b_.at(b_.scratch(), geometry_.in_place ? 0 : geometry_.scratch_floats(s_));
  }

  void emit_phase(const DirectChunk& chunk, Value* planes, Value* number, int rows, Value* phase) {
    const ConvPhases& p = s_.phases;
    const PhasePlace row = find_phase(b_, b_.div(phase, p.w), p.h, p.cut_top);
    const PhasePlace column = find_phase(b_, b_.mod(phase, p.w), p.w, p.cut_left);
    Value* shift = b_.add(b_.mul(row.shift, chunk.layout.columns), column.shift);
    Value* entry = b_.add(b_.mul(chunk.group, p.count()), phase);
    Value* panel = b_.add(b_.mul(entry, ceil_div(channels_, plan_.rows)), number);
    Value* place = b_.add(b_.mul(row.place, p.w), column.place);
    Value* sums = b_.at(phase_sums(), b_.mul(place, plan_.rows * phase_positions()));
    for_each_pixel_tile(b_, plan_, chunk, [&](Value* pixel, DirectTile tile, Value* active) {
      tile.rows = rows;
      tiles_->call(tile, {b_.at(b_.at(planes, shift), pixel),
                          b_.at(weights_, b_.mul(panel, reduction() * plan_.rows)),
                          b_.at(sums, pixel),
                          {},
                          chunk.layout,
                          active});
    });
  }

  void join_phases(const DirectChunk& chunk, Value* number, int rows) {
    b_.loop(b_.index(0), b_.index(rows), 1, [&](Value* row) {
      Value* channel =
          b_.add(b_.mul(chunk.group, channels_), b_.add(b_.mul(number, plan_.rows), row));
      Value* plane = b_.add(b_.mul(chunk.image, result_channels(s_)), channel);
      const Extent pixels = output_pixels(s_) * s_.phases.count();
      Value* first = b_.mul(chunk.first_pixel, s_.phases.count());
      IrValues arguments = {b_.at(phase_sums(), b_.mul(row, phase_positions())),
                            stored_.at(y_, b_.add(b_.mul(plane, pixels), first))};
      for (size_t n = 0; n < operands_.size(); ++n) {
        const EpilogueOperand& operand = s_.epilogue.operands[n];
        arguments.push_back(Elements(b_, s_.epilogue.operand_dtype(n))
                                .at(operands_[n], b_.mul(channel, operand.row_stride)));
      }
      arguments.push_back(chunk.rows);
      b_.ir().CreateCall(join_, arguments);
    });
  }

  // Returns what the call for a channel tile at an output pixel reads and writes.
  DirectTileCall call_of(const DirectChunk& chunk, Value* number, Value* column) {
    Value* panel = b_.add(b_.mul(chunk.group, ceil_div(channels_, plan_.rows)), number);
    Value* channel = b_.add(b_.mul(chunk.group, channels_), b_.mul(number, plan_.rows));
    Value* plane = b_.add(b_.mul(chunk.image, s_.co), channel);
    DirectTileCall call{};
    call.layout = chunk.layout;
    call.weights = b_.at(weights_, b_.mul(panel, reduction() * plan_.rows));
    call.y = stored_.at(y_, b_.add(b_.mul(plane, output_pixels(s_)), column));
    for (size_t n = 0; n < operands_.size(); ++n) {
      const EpilogueOperand& operand = s_.epilogue.operands[n];
      Value* offset =
          b_.add(b_.mul(channel, operand.row_stride), b_.mul(column, operand.column_stride));
      if (!operand.batch_strides.empty())
        offset = b_.add(offset, b_.mul(chunk.image, operand.batch_strides[0]));
      call.operands.push_back(Elements(b_, s_.epilogue.operand_dtype(n)).at(operands_[n], offset));
    }
    return call;
  }

  const ConvSpec& s_;
  KernelBuilder b_;
  const DirectConvPlan& plan_;
  Elements in_memory_, stored_;  // x and y
  DirectGeometry geometry_;
  int64_t channels_;  // of a group's output
  DirectTiles* tiles_ = nullptr;
  Epilogue no_epilogue_;
  llvm::Function *copy_ = nullptr, *join_ = nullptr;
  Value *x_ = nullptr, *y_ = nullptr, *weights_ = nullptr;
  IrValues operands_;
};

}  // namespace

Result<GeneratedKernel> generate_direct_conv(const DirectConvSpec& spec,
                                             const DeviceProfile& profile) {
  SLUICE_TRY(check_conv(spec.conv));
  SLUICE_TRY(check_epilogue(spec.conv.epilogue, 1));
  const DirectConvPlan plan = choose_direct_plan(spec.conv, profile);
  if (!plan.possible)
    return make_error(ErrorCode::kNotLowerable,
                      "a direct convolution needs {} bytes of scratch or too much code",
                      plan.scratch_bytes);
  return DirectEmitter(spec.conv, profile, plan).emit(kernel_entry(canonical_text(spec), profile));
}

}  // namespace sluice
