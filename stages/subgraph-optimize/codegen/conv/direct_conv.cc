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
#include "stages/subgraph-optimize/codegen/emit/choice.h"
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
    DirectTiles tiles(b_, s_, plan_, geometry_, output, direct_tiles(s_, plan_, b_.has_masks()));
    tiles_ = &tiles;
    if (has_phases()) join_ = emit_phase_join(b_, s_, plan_.rows * phase_positions());
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
    kernel.blocks = plan_.blocks;
    kernel.scratch_bytes = plan_.scratch_bytes;
    kernel.multiply_adds = s_.n * output_pixels(s_) * (s_.co * reduction());
    if (!is_fixed(s_))
      kernel.multiply_adds_per_block =
          multiply_adds_per_block(kernel.multiply_adds, plan_.cycles, b_.profile());
    return kernel;
  }

 private:
  struct Chunk {
    Value *image, *group, *slice, *first_row;
    Value* part = nullptr;          // of the channel tiles
    Value* first_column = nullptr;  // of a piece; null: the chunk has all columns
    PlaneLayout layout;
    Value* rows = nullptr;
    Value* first_pixel = nullptr;  // of the output's channel
  };

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
  int64_t phase_positions() const { return plan_.chunk_rows * s_.ow.factor; }
  int64_t tile_pixels() const { return int64_t{plan_.lanes} * plan_.vectors; }
  // Returns whether rows are cut into pieces: a width known only when the kernel runs may be too
  // wide for the scratch.
  bool cuts_rows() const { return plan_.piece_columns > 0; }

  // ---- chunks

  void emit_chunks(const DirectCut& cut) {
    Value* of_slice = cut.pieces ? b_.mul(cut.chunks, cut.pieces) : cut.chunks;
    Value* items = b_.mul(of_slice, s_.n * s_.depth.out * (s_.groups * plan_.parts));
    Value* blocks = is_fixed(s_) ? b_.index(plan_.blocks) : b_.blocks();
    const auto range = b_.partition(items, b_.block(), blocks);
    b_.loop(range.first, range.second, 1, [&](Value* item) {
      Value* part = b_.mod(item, plan_.parts);
      item = b_.div(item, plan_.parts);
      Value* number = cut.pieces ? b_.div(item, cut.pieces) : item;
      Value *row_chunk = b_.mod(number, cut.chunks), *outer = b_.div(number, cut.chunks);
      Value* remainder = b_.div(outer, b_.value(s_.depth.out));
      Chunk chunk{b_.div(remainder, s_.groups), b_.mod(remainder, s_.groups),
                  b_.mod(outer, b_.value(s_.depth.out)), b_.mul(row_chunk, cut.chunk_rows)};
      chunk.layout = cut.layout, chunk.part = part;
      if (cut.pieces) {
        Value* columns = cut.layout.columns;
        chunk.first_column = b_.mul(b_.mod(item, cut.pieces), columns);
        chunk.layout.columns = b_.min(columns, b_.sub(b_.value(s_.ow), chunk.first_column));
      }
      with_rows(cut, row_chunk, chunk);
    });
  }

  // Emits the chunk, with constants for rows that are known.
  void with_rows(const DirectCut& cut, Value* row_chunk, Chunk chunk) {
    const auto emit = [&](Value* rows) {
      chunk.rows = rows;
      emit_chunk(chunk);
    };
    if (!is_fixed(s_)) {
      // The last chunks may be shorter, or empty.
      Value* left = b_.sub(b_.value(s_.oh), chunk.first_row);
      return emit(b_.max(b_.min(cut.chunk_rows, left), b_.index(0)));
    }
    if (last_chunk_rows(s_, plan_) == plan_.chunk_rows) return emit(cut.chunk_rows);
    b_.if_else(
        b_.ir().CreateICmpSLT(row_chunk, b_.index(plan_.chunks - 1)), [&] { emit(cut.chunk_rows); },
        [&] { emit(b_.index(last_chunk_rows(s_, plan_))); });
  }

  void emit_chunk(Chunk& chunk) {
    Value* row = b_.add(b_.mul(chunk.slice, s_.oh), chunk.first_row);
    chunk.first_pixel = b_.mul(row, s_.ow);
    if (chunk.first_column) chunk.first_pixel = b_.add(chunk.first_pixel, chunk.first_column);
    Value* planes =
        geometry_.in_place ? in_memory_.at(input(chunk), chunk.first_pixel) : copied_planes(chunk);
    if (has_phases()) return emit_phases(chunk, planes);
    emit_pixels(chunk, [&](Value* pixel, const DirectTile& tile, Value* active) {
      emit_channels(chunk, planes, pixel, tile, active);
    });
  }

  // Returns the first input channel of the chunk's group.
  Value* input(const Chunk& chunk) {
    Value* channel = b_.add(b_.mul(chunk.image, s_.ci), b_.mul(chunk.group, s_.ci / s_.groups));
    return in_memory_.at(x_, b_.mul(channel, input_pixels(s_)));
  }

  // Copies the chunk's input into scratch.
  Value* copied_planes(const Chunk& chunk) {
    Value *x = input(chunk), *planes = b_.scratch();
    Value* plane_rows = b_.add(chunk.rows, b_.index(geometry_.max_shift));
    Value* top = b_.add(b_.mul(chunk.first_row, s_.stride_h), b_.index(-s_.pad_top));
    b_.loop(b_.index(0), b_.index(s_.ci / s_.groups), 1, [&](Value* ci) {
      Value* channel = in_memory_.at(x, b_.mul(ci, input_pixels(s_)));
      const auto copy = [&](Value* kd) {
        Value* number = b_.add(b_.mul(ci, s_.depth.kernel), kd);
        Value* to =
            b_.at(planes, b_.mul(b_.mul(number, chunk.layout.plane), geometry_.plane_columns(s_)));
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
  IrValues slice_of(const Chunk& chunk, Value* channel, Value* kd, Value* top) {
    if (!is_3d(s_)) return {channel, top};
    Value* first = b_.add(b_.mul(chunk.slice, s_.depth.stride), b_.index(-s_.depth.pad));
    Value* id = b_.add(first, b_.mul(kd, s_.depth.dilation));
    Value* is_inside = b_.ir().CreateICmpULT(id, b_.value(s_.depth.in));
    Value* slice = b_.ir().CreateSelect(is_inside, id, b_.index(0));
    return {in_memory_.at(channel, b_.mul(slice, s_.h * s_.w)),
            b_.ir().CreateSelect(is_inside, top, b_.value(s_.h))};
  }

  void add_layout(const Chunk& chunk, IrValues& arguments) {
    if (is_fixed(s_)) return;
    Value* first_column = chunk.first_column ? chunk.first_column : b_.index(0);
    arguments.insert(arguments.end(), {b_.symbols(), chunk.layout.columns, chunk.layout.phase,
                                       chunk.layout.plane, first_column});
  }

  // ---- tiles

  using PixelBody = std::function<void(Value* pixel, const DirectTile& tile, Value* active)>;

  // Calls the body for the pixel tiles of a chunk.
  void emit_pixels(const Chunk& chunk, const PixelBody& body) {
    const int lanes = plan_.lanes;
    Value* positions = b_.mul(chunk.rows, chunk.layout.columns);
    Value* whole = b_.mul(b_.div(positions, tile_pixels()), tile_pixels());
    b_.loop(b_.index(0), whole, tile_pixels(),
            [&](Value* pixel) { body(pixel, {1, plan_.vectors, lanes, lanes}, b_.index(lanes)); });
    const auto emit_last = [&](Value* pixel, const DirectTile& tile, Value* active) {
      if (tile.vectors > 0) body(pixel, tile, active);
    };
    if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(positions)) {
      const DirectTile tile = remainder_tile(plan_, known->getSExtValue());
      return emit_last(whole, tile, b_.index(tile.active));
    }
    Value *remainder = b_.sub(positions, whole), *all = b_.index(lanes);
    if (b_.has_masks()) {
      Value* count = b_.ceil_div(remainder, all);
      Value* active = b_.sub(remainder, b_.mul(b_.sub(count, b_.index(1)), lanes));
      return emit_choice(b_, count, numbers(0, plan_.vectors),
                         [&](int used) { emit_last(whole, {1, used, 0, lanes}, active); });
    }
    Value* in_vectors = b_.div(remainder, all);
    emit_choice(b_, in_vectors, numbers(0, plan_.vectors - 1),
                [&](int used) { emit_last(whole, {1, used, lanes, lanes}, all); });
    emit_choice(b_, b_.mod(remainder, all), numbers(0, lanes - 1), [&](int pixels) {
      emit_last(b_.add(whole, b_.mul(in_vectors, lanes)), {1, pixels, 1, 1}, b_.index(1));
    });
  }

  // Calls the tiles of all output channels of the group over one tile of pixels.
  void emit_channels(const Chunk& chunk, Value* planes, Value* pixel, DirectTile tile,
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
  void emit_phases(const Chunk& chunk, Value* planes) {
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

  void emit_phase(const Chunk& chunk, Value* planes, Value* number, int rows, Value* phase) {
    const ConvPhases& p = s_.phases;
    const PhasePlace row = find_phase(b_, b_.div(phase, p.w), p.h, p.cut_top);
    const PhasePlace column = find_phase(b_, b_.mod(phase, p.w), p.w, p.cut_left);
    Value* shift =
        b_.add(b_.mul(row.shift, chunk.layout.columns), b_.mul(column.shift, chunk.layout.plane));
    Value* entry = b_.add(b_.mul(chunk.group, p.count()), phase);
    Value* panel = b_.add(b_.mul(entry, ceil_div(channels_, plan_.rows)), number);
    Value* place = b_.add(b_.mul(row.place, p.w), column.place);
    Value* sums = b_.at(phase_sums(), b_.mul(place, plan_.rows * phase_positions()));
    emit_pixels(chunk, [&](Value* pixel, DirectTile tile, Value* active) {
      tile.rows = rows;
      tiles_->call(tile, {b_.at(b_.at(planes, shift), pixel),
                          b_.at(weights_, b_.mul(panel, reduction() * plan_.rows)),
                          b_.at(sums, pixel),
                          {},
                          chunk.layout,
                          active});
    });
  }

  void join_phases(const Chunk& chunk, Value* number, int rows) {
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
  DirectTileCall call_of(const Chunk& chunk, Value* number, Value* column) {
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
