// Direct convolution on dense tensors: output channels x output pixels are in registers, weights
// are broadcast, and the input is read from planes (direct_geometry.h).
#include <algorithm>

#include "stages/subgraph-optimize/codegen/ceil_div.h"
#include "stages/subgraph-optimize/codegen/conv/conv_kinds.h"
#include "stages/subgraph-optimize/codegen/conv/direct_planes.h"
#include "stages/subgraph-optimize/codegen/cost.h"
#include "stages/subgraph-optimize/codegen/emit/choice.h"
#include "stages/subgraph-optimize/codegen/emit/elements.h"
#include "stages/subgraph-optimize/codegen/emit/epilogue_emitter.h"
#include "stages/subgraph-optimize/codegen/emit/object_emitter.h"

namespace sluice {
namespace {

using llvm::Value;

struct Tile {
  int rows = 1;
  int vectors = 1;
  int active = 1;  // lanes of the last vector; 0: an argument of a symbolic tile function
  int lanes = 1;
  bool operator==(const Tile&) const = default;
};

// Emits the tile functions, the copy into planes (direct_planes.h) and the loops around them:
//
//   for item in the block's (image, group, chunk of output rows), chunk fastest:
//     for ci: planes[ci][...] = rows of x[image][group][ci]; none when x is read in place
//     for pixel tile of lanes * vectors output pixels of the chunk, over row ends:
//       for channel tile of plan.rows output channels of the group: call the tile
//
//   tile: acc[splits][rows][vectors] = 0
//     for plane (ci, kw), `unroll` of them written out per iteration:
//       for kh (written out):
//         acc[s][i][j] += w[group][channel tile][plane][kh][i] * planes[plane][offset(kh) + j]
//     y[channel + i][pixel + j] = epilogue(sum of acc[s][i][j] over s)
//
// A symbolic kernel computes the chunks' sizes first; where rows may be too wide for the scratch,
// an item is a piece of a row of the chunk as well, piece fastest.
class DirectEmitter {
 public:
  DirectEmitter(const ConvSpec& spec, const DeviceProfile& profile, const DirectConvPlan& plan)
      : s_(spec),
        b_(profile),
        plan_(plan),
        is_symbolic_(!is_fixed(spec)),
        in_memory_(b_, spec.dtype),
        stored_(b_, spec.epilogue.stored(DType::kF32)),
        geometry_(spec, plan.chunk_rows),
        channels_(spec.co / spec.groups) {}

  Result<GeneratedKernel> emit(const std::string& entry) {
    return is_symbolic_ ? emit_symbolic(entry) : emit_fixed(entry);
  }

 private:
  struct Chunk {
    Value *image, *group, *first_row;
    // The columns of a piece, in a kernel that cuts rows; null otherwise: the chunk has all
    // columns.
    Value *first_column = nullptr, *columns = nullptr;
  };

  Result<GeneratedKernel> emit_fixed(const std::string& entry) {
    const int64_t last_rows = s_.oh.factor - (plan_.chunks - 1) * plan_.chunk_rows;
    const int64_t whole = plan_.chunk_rows * s_.ow.factor, last = last_rows * s_.ow.factor;
    emit_tiles(whole, 0);
    if (last != whole) emit_tiles(last, 1);
    if (!geometry_.in_place) copy_ = emit_plane_copy(b_, s_, geometry_);
    begin(entry);
    const auto range =
        b_.partition(s_.n.factor * s_.groups * plan_.chunks, b_.block(), plan_.blocks);
    b_.loop(range.first, range.second, 1, [&](Value* item) {
      Value* chunk = b_.mod(item, plan_.chunks);
      const Chunk place{b_.div(item, plan_.chunks * s_.groups),
                        b_.mod(b_.div(item, plan_.chunks), s_.groups),
                        b_.mul(chunk, plan_.chunk_rows)};
      if (last == whole) return emit_chunk(place, plan_.chunk_rows, 0);
      b_.if_else(
          b_.ir().CreateICmpSLT(chunk, b_.index(plan_.chunks - 1)),
          [&] { emit_chunk(place, plan_.chunk_rows, 0); },
          [&] { emit_chunk(place, last_rows, 1); });
    });
    b_.ret_void();
    SLUICE_ASSIGN(GeneratedKernel kernel, b_.finish(entry));
    kernel.blocks = plan_.blocks;
    kernel.scratch_bytes = plan_.scratch_bytes;
    kernel.multiply_adds = multiply_adds();
    return kernel;
  }

  Result<GeneratedKernel> emit_symbolic(const std::string& entry) {
    for (const Tile& tile : symbolic_tile_shapes())
      symbolic_tiles_.emplace_back(tile, emit_tile(tile));
    if (!geometry_.in_place) copy_ = emit_symbolic_plane_copy(b_, s_, geometry_, cuts_rows());
    begin(entry);
    b_.set_symbols(b_.symbols_argument());
    Value* minimum = b_.min(b_.value(s_.n), b_.min(b_.value(s_.oh), b_.value(s_.ow)));
    b_.if_else(b_.ir().CreateICmpSGT(minimum, b_.index(0)), [&] { emit_chunks(); }, [] {});
    b_.ret_void();
    SLUICE_ASSIGN(GeneratedKernel kernel, b_.finish(entry, {.knows_target = true}));
    kernel.blocks = plan_.blocks;
    kernel.multiply_adds = multiply_adds();
    kernel.multiply_adds_per_block =
        multiply_adds_per_block(kernel.multiply_adds, plan_.cycles, b_.profile());
    kernel.scratch_bytes = plan_.scratch_bytes;
    return kernel;
  }

  void begin(const std::string& entry) {
    b_.begin_kernel(entry);
    y_ = b_.pointer_argument(0);
    x_ = b_.pointer_argument(1);
    weights_ = b_.pointer_argument(2);
    operands_ = b_.pointer_arguments(3, s_.epilogue.operands.size());
  }

  Extent multiply_adds() const { return s_.n * s_.oh * s_.ow * (s_.co * reduction()); }
  int64_t planned_positions() const {
    return plan_.chunk_rows * std::max<int64_t>(s_.ow.nominal, 1);
  }

  int64_t phases() const { return static_cast<int64_t>(geometry_.phases.size()); }

  // Computes DirectGeometry::spread_floats.
  Value* spread(Value* floats) {
    Value* lines = b_.div(b_.add(floats, b_.index(kScratchLine - 1)), kScratchLine);
    return b_.mul(b_.ir().CreateOr(lines, b_.index(1)), kScratchLine);
  }

  // Returns whether rows are cut into pieces: a width known only when the kernel runs may be too
  // wide for the scratch.
  bool cuts_rows() const { return plan_.piece_columns > 0; }

  // Emits the loop over chunks of (nearly) equally many rows; there is at least one row, column and
  // image.
  void emit_chunks() {
    Value *high = b_.value(s_.oh), *wide = b_.value(s_.ow), *columns = wide;
    Value* maximum =
        b_.max(b_.div(b_.index(planned_positions()), wide), b_.index(geometry_.min_rows()));
    if (!geometry_.in_place) {
      Value* fitting =
          b_.sub(b_.div(b_.index(plan_.phase_floats), wide), b_.index(geometry_.max_shift));
      maximum = b_.max(b_.min(maximum, fitting), b_.index(1));
      Value* is_whole = b_.ir().CreateICmpSGT(fitting, b_.index(0));
      if (cuts_rows())
        columns = b_.ir().CreateSelect(is_whole, wide, b_.index(plan_.piece_columns));
    }
    Value* chunks = b_.ceil_div(high, b_.min(maximum, high));
    Value* chunk_rows = b_.ceil_div(high, chunks);
    slot_stride_ = b_.mul(b_.add(chunk_rows, b_.index(geometry_.max_shift)), columns);
    plane_stride_ =
        geometry_.in_place ? b_.value(s_.h * s_.w) : spread(b_.mul(slot_stride_, phases()));
    Value* pieces = cuts_rows() ? b_.ceil_div(wide, columns) : nullptr;
    Value* all = cuts_rows() ? b_.mul(chunks, pieces) : chunks;
    const auto range = b_.partition(b_.mul(all, s_.n * s_.groups), b_.block(), b_.blocks());
    b_.loop(range.first, range.second, 1, [&](Value* item) {
      Value* number = cuts_rows() ? b_.div(item, pieces) : item;
      Value* remainder = b_.div(number, chunks);
      Value* first_row = b_.mul(b_.mod(number, chunks), chunk_rows);
      Chunk place{b_.div(remainder, s_.groups), b_.mod(remainder, s_.groups), first_row};
      if (cuts_rows()) {
        place.first_column = b_.mul(b_.mod(item, pieces), columns);
        place.columns = b_.min(columns, b_.sub(wide, place.first_column));
      }
      // The last chunks may be shorter, or empty.
      emit_symbolic_chunk(place, b_.max(b_.min(chunk_rows, b_.sub(high, first_row)), b_.index(0)));
    });
  }

  int64_t planes() const { return geometry_.planes(s_); }
  int64_t reduction() const { return planes() * s_.kh; }
  int64_t tile_pixels() const { return int64_t{plan_.lanes} * plan_.vectors; }

  // Emits the functions for chunks of `positions` output pixels: tiles_[kind of chunk][is the
  // channel tile short][is the pixel tile short].
  void emit_tiles(int64_t positions, int kind) {
    const int row_remainder = static_cast<int>(channels_ % plan_.rows);
    const int remainder = static_cast<int>(positions % tile_pixels());
    for (const int rows : {plan_.rows, row_remainder}) {
      if (rows == 0 || (rows == plan_.rows && channels_ < rows)) continue;
      const bool is_remainder = rows == row_remainder;
      if (positions >= tile_pixels())
        tiles_[kind][is_remainder][0] = emit_tile({rows, plan_.vectors, plan_.lanes, plan_.lanes});
      if (remainder == 0) continue;
      const int vectors = static_cast<int>(ceil_div(remainder, plan_.lanes));
      tiles_[kind][is_remainder][1] =
          emit_tile({rows, vectors, remainder - (vectors - 1) * plan_.lanes, plan_.lanes});
    }
  }

  std::vector<Tile> symbolic_tile_shapes() {
    std::vector<Tile> columns = {{1, plan_.vectors, plan_.lanes, plan_.lanes}};
    if (b_.has_masks()) {
      for (int vectors = 1; vectors <= plan_.vectors; ++vectors)
        columns.push_back({1, vectors, 0, plan_.lanes});
    } else {
      for (int vectors = 1; vectors < plan_.vectors; ++vectors)
        columns.push_back({1, vectors, plan_.lanes, plan_.lanes});
      for (int pixels = 1; pixels < plan_.lanes; ++pixels) columns.push_back({1, pixels, 1, 1});
    }
    std::vector<Tile> tiles;
    for (const int rows : {plan_.rows, static_cast<int>(channels_ % plan_.rows)}) {
      if (rows == 0 || rows > channels_) continue;
      for (Tile tile : columns) {
        tile.rows = rows;
        tiles.push_back(tile);
      }
    }
    return tiles;
  }

  // Emits void(planes, weights, y, operands...), all pointing at the tile. A symbolic function
  // takes also: the symbols, the floats from one phase of a plane to the next and from plane to
  // plane, and the active lanes; in a kernel that cuts rows also the columns of a piece.
  llvm::Function* emit_tile(const Tile& tile) {
    std::vector<llvm::Type*> parameters(3 + s_.epilogue.operands.size(), b_.pointer_type());
    const auto own = static_cast<unsigned>(parameters.size());
    if (is_symbolic_)
      parameters.insert(parameters.end(),
                        {b_.pointer_type(), b_.index_type(), b_.index_type(), b_.index_type()});
    if (cuts_rows()) parameters.push_back(b_.index_type());
    llvm::Function* function = b_.begin_function("tile", parameters);
    if (is_symbolic_) {
      b_.set_symbols(function->getArg(own));
      slot_stride_ = function->getArg(own + 1);
      plane_stride_ = function->getArg(own + 2);
      if (tile.active == 0) mask_ = b_.mask(function->getArg(own + 3), tile.lanes);
      columns_ = cuts_rows() ? function->getArg(own + 4) : b_.value(s_.ow);
    }
    const size_t count = static_cast<size_t>(tile.rows) * tile.vectors;
    const int64_t unroll = std::min<int64_t>(planes(), s_.kh >= 3 ? 1 : 4 / s_.kh);
    // A multiply-add has a latency of 4 cycles, so small tiles keep several sums per element.
    size_t splits = 1;
    while (splits * count < 8 && static_cast<int64_t>(splits) * 2 <= unroll * s_.kh) splits *= 2;
    IrValues carried(splits * count, b_.splat(0.0f, tile.lanes));
    carried.push_back(function->getArg(0));
    carried.push_back(function->getArg(1));
    const auto steps = [&](IrValues values, int64_t plane_count) {
      Value* weights = values.back();
      values.pop_back();
      Value* x = values.back();
      values.pop_back();
      for (int64_t u = 0; u < plane_count * s_.kh; ++u) {
        step(tile, plane_address(x, u / s_.kh, u % s_.kh), b_.at(weights, u * plan_.rows), values,
             static_cast<size_t>(u) % splits * count);
      }
      values.push_back(plane_address(x, plane_count, -1));
      values.push_back(b_.at(weights, plane_count * s_.kh * plan_.rows));
      return values;
    };
    const int64_t whole = planes() / unroll * unroll;
    carried = b_.loop(b_.index(0), b_.index(whole), unroll, carried,
                      [&](Value*, const IrValues& values) { return steps(values, unroll); });
    carried = steps(carried, planes() - whole);
    carried.resize(splits * count);
    for (; splits > 1; splits /= 2) {
      for (size_t n = 0; n < splits / 2 * count; ++n)
        carried[n] = b_.ir().CreateFAdd(carried[n], carried[n + splits / 2 * count]);
    }
    carried.resize(count);
    finish(tile, *function, carried);
    b_.ret_void();
    return function;
  }

  // Returns the address of kernel row kh in the plane `plane` planes after x; with kh = -1, of the
  // plane itself.
  Value* plane_address(Value* x, int64_t plane, int64_t kh) {
    if (!is_symbolic_)
      return b_.at(x, plane * geometry_.plane_stride(s_) + (kh < 0 ? 0 : geometry_.offset(s_, kh)));
    if (plane > 0) x = b_.at(x, b_.mul(plane_stride_, plane));
    if (kh <= 0) return x;
    Value* rows = b_.mul(columns_, kh * s_.dilation_h / s_.stride_h);
    return b_.at(x, b_.add(b_.mul(slot_stride_, geometry_.slot(s_, kh)), rows));
  }

  int active(const Tile& tile, int vector) const {
    return vector == tile.vectors - 1 ? tile.active : tile.lanes;
  }

  Value* load_pixels(Elements& from, const Tile& tile, Value* address, int vector) {
    if (active(tile, vector) == 0) return from.load_masked(address, tile.lanes, mask_);
    return from.load_vector(address, tile.lanes, active(tile, vector));
  }

  void step(const Tile& tile, Value* x, Value* weights, IrValues& sums, size_t first) {
    IrValues pixels;
    for (int j = 0; j < tile.vectors; ++j) {
      // Planes in scratch may be read past the pixels; x may not.
      Value* address = b_.at(x, j * tile.lanes);
      pixels.push_back(geometry_.in_place ? load_pixels(in_memory_, tile, address, j)
                                          : b_.load_vector(address, tile.lanes, tile.lanes));
    }
    for (int i = 0; i < tile.rows; ++i) {
      Value* weight = b_.broadcast(b_.load_float(b_.at(weights, i)), tile.lanes);
      for (int j = 0; j < tile.vectors; ++j) {
        Value*& sum = sums[first + static_cast<size_t>(i) * tile.vectors + j];
        sum = b_.multiply_add(weight, pixels[j], sum);
      }
    }
    b_.keep_memory_order();
  }

  void finish(const Tile& tile, llvm::Function& function, const IrValues& sums) {
    if (!is_long(s_.epilogue, tile.rows * tile.vectors)) {
      for (int i = 0; i < tile.rows; ++i) {
        for (int j = 0; j < tile.vectors; ++j) {
          finish_vector(tile, function, sums[static_cast<size_t>(i) * tile.vectors + j],
                        b_.index(i), j);
        }
      }
      return;
    }
    Value* buffer = b_.stack(b_.vector_type(tile.lanes), static_cast<int64_t>(sums.size()));
    for (size_t n = 0; n < sums.size(); ++n)
      b_.store_vector(sums[n], b_.at(buffer, static_cast<int64_t>(n) * tile.lanes), tile.lanes);
    b_.loop(b_.index(0), b_.index(tile.rows), 1, [&](Value* row) {
      for (int j = 0; j < tile.vectors; ++j) {
        Value* at =
            b_.at(buffer, b_.add(b_.mul(row, tile.vectors * tile.lanes), b_.index(j * tile.lanes)));
        finish_vector(tile, function, b_.load_vector(at, tile.lanes, tile.lanes), row, j);
      }
    });
  }

  void finish_vector(const Tile& tile, llvm::Function& function, Value* sum, Value* row, int j) {
    Value* result = emit_epilogue(b_, s_.epilogue, sum, [&](int n) {
      const EpilogueOperand& operand = s_.epilogue.operands[n];
      Elements elements = operand_elements(static_cast<size_t>(n));
      Value* address = elements.at(function.getArg(3 + static_cast<unsigned>(n)),
                                   b_.add(b_.mul(row, operand.row_stride),
                                          b_.index(j * tile.lanes * operand.column_stride.factor)));
      if (operand.column_stride.is_fixed_at(0))
        return b_.broadcast(elements.load(address), tile.lanes);
      return load_pixels(elements, tile, address, j);
    });
    Value* address = stored_.at(function.getArg(2),
                                b_.add(b_.mul(row, s_.oh * s_.ow), b_.index(j * tile.lanes)));
    if (active(tile, j) == 0) {
      stored_.store_masked(result, address, mask_);
    } else {
      stored_.store_vector(result, address, active(tile, j));
    }
  }

  Elements operand_elements(size_t n) { return {b_, s_.epilogue.operand_dtype(n)}; }

  // Returns the first input channel of the chunk's group.
  Value* input(const Chunk& chunk) {
    Value* channel = b_.add(b_.mul(chunk.image, s_.ci), b_.mul(chunk.group, s_.ci / s_.groups));
    return in_memory_.at(x_, b_.mul(channel, s_.h * s_.w));
  }

  // Returns the input row under kernel row 0 of the chunk's first output row.
  Value* top(const Chunk& chunk) {
    return b_.add(b_.mul(chunk.first_row, s_.stride_h), b_.index(-s_.pad_top));
  }

  void emit_chunk(const Chunk& chunk, int64_t rows, int kind) {
    Value* x = input(chunk);
    Value* first = b_.mul(chunk.first_row, s_.ow);
    Value* source = geometry_.in_place ? b_.at(x, first) : b_.scratch();
    if (!geometry_.in_place) {
      Value* first_input = top(chunk);
      b_.loop(b_.index(0), b_.index(s_.ci / s_.groups), 1, [&](Value* ci) {
        b_.ir().CreateCall(copy_, {in_memory_.at(x, b_.mul(ci, s_.h * s_.w)),
                                   b_.at(source, b_.mul(ci, s_.kw * geometry_.plane_stride(s_))),
                                   first_input, b_.index(rows + geometry_.max_shift)});
      });
    }
    const int64_t positions = rows * s_.ow.factor,
                  whole = positions / tile_pixels() * tile_pixels();
    const auto channels_at = [&](Value* pixel, bool pixel_remainder) {
      emit_channels(chunk, source, first, pixel, [&](bool channel_remainder) {
        return tiles_[kind][channel_remainder][pixel_remainder];
      });
    };
    b_.loop(b_.index(0), b_.index(whole), tile_pixels(),
            [&](Value* pixel) { channels_at(pixel, false); });
    if (whole < positions) channels_at(b_.index(whole), true);
  }

  void emit_symbolic_chunk(const Chunk& chunk, Value* rows) {
    Value* x = input(chunk);
    Value* first = b_.mul(chunk.first_row, s_.ow);
    if (cuts_rows()) first = b_.add(first, chunk.first_column);
    columns_ = cuts_rows() ? chunk.columns : b_.value(s_.ow);
    Value* source = geometry_.in_place ? b_.at(x, first) : b_.scratch();
    if (!geometry_.in_place) {
      Value* first_input = top(chunk);
      Value* plane_rows = b_.add(rows, b_.index(geometry_.max_shift));
      b_.loop(b_.index(0), b_.index(s_.ci / s_.groups), 1, [&](Value* ci) {
        Value* to = b_.at(source, b_.mul(b_.mul(ci, plane_stride_), s_.kw));
        IrValues arguments = {in_memory_.at(x, b_.mul(ci, s_.h * s_.w)),
                              to,
                              first_input,
                              plane_rows,
                              b_.symbols(),
                              slot_stride_,
                              plane_stride_};
        if (cuts_rows()) arguments.insert(arguments.end(), {chunk.first_column, chunk.columns});
        b_.ir().CreateCall(copy_, arguments);
      });
    }
    Value* positions = b_.mul(rows, columns_);
    Value* whole = b_.mul(b_.div(positions, tile_pixels()), tile_pixels());
    const auto channels_at = [&](Value* pixel, Tile tile, Value* active) {
      const auto pick = [&](bool channel_remainder) {
        tile.rows = channel_remainder ? static_cast<int>(channels_ % plan_.rows) : plan_.rows;
        return std::find_if(symbolic_tiles_.begin(), symbolic_tiles_.end(),
                            [&](const auto& known) { return known.first == tile; })
            ->second;
      };
      active_ = active;
      emit_channels(chunk, source, first, pixel, pick);
    };
    const int lanes = plan_.lanes, vectors = plan_.vectors;
    Value* all = b_.index(lanes);
    b_.loop(b_.index(0), whole, tile_pixels(),
            [&](Value* pixel) { channels_at(pixel, {1, vectors, lanes, lanes}, all); });
    Value* remainder = b_.sub(positions, whole);
    if (b_.has_masks()) {
      Value* count = b_.ceil_div(remainder, all);
      Value* active = b_.sub(remainder, b_.mul(b_.sub(count, b_.index(1)), lanes));
      emit_choice(b_, count, numbers(0, vectors), [&](int used) {
        if (used > 0) channels_at(whole, {1, used, 0, lanes}, active);
      });
      return;
    }
    Value* in_vectors = b_.div(remainder, all);
    emit_choice(b_, in_vectors, numbers(0, vectors - 1), [&](int used) {
      if (used > 0) channels_at(whole, {1, used, lanes, lanes}, all);
    });
    emit_choice(b_, b_.mod(remainder, all), numbers(0, lanes - 1), [&](int pixels) {
      if (pixels > 0)
        channels_at(b_.add(whole, b_.mul(in_vectors, lanes)), {1, pixels, 1, 1}, b_.index(1));
    });
  }

  // Calls the tiles of all output channels of the group over one tile of pixels; pick returns the
  // tile function for whole channel tiles or for the short last one.
  void emit_channels(const Chunk& chunk, Value* source, Value* first, Value* pixel,
                     const std::function<llvm::Function*(bool)>& pick) {
    const int64_t whole = channels_ / plan_.rows;
    const auto call = [&](Value* tile, bool channel_remainder) {
      Value* panel = b_.add(b_.mul(chunk.group, ceil_div(channels_, plan_.rows)), tile);
      Value* channel = b_.add(b_.mul(chunk.group, channels_), b_.mul(tile, plan_.rows));
      Value* column = b_.add(first, pixel);
      Value* y = stored_.at(
          y_, b_.add(b_.mul(b_.add(b_.mul(chunk.image, s_.co), channel), s_.oh * s_.ow), column));
      IrValues arguments = {b_.at(source, pixel),
                            b_.at(weights_, b_.mul(panel, reduction() * plan_.rows)), y};
      for (size_t n = 0; n < operands_.size(); ++n) {
        const EpilogueOperand& operand = s_.epilogue.operands[n];
        Value* offset =
            b_.add(b_.mul(channel, operand.row_stride), b_.mul(column, operand.column_stride));
        if (!operand.batch_strides.empty())
          offset = b_.add(offset, b_.mul(chunk.image, operand.batch_strides[0]));
        arguments.push_back(operand_elements(n).at(operands_[n], offset));
      }
      if (is_symbolic_)
        arguments.insert(arguments.end(), {b_.symbols(), slot_stride_, plane_stride_, active_});
      if (cuts_rows()) arguments.push_back(columns_);
      b_.ir().CreateCall(pick(channel_remainder), arguments);
    };
    b_.loop(b_.index(0), b_.index(whole), 1, [&](Value* tile) { call(tile, false); });
    if (channels_ % plan_.rows != 0) call(b_.index(whole), true);
  }

  const ConvSpec& s_;
  KernelBuilder b_;
  const DirectConvPlan& plan_;
  bool is_symbolic_;
  Elements in_memory_, stored_;  // x and y
  DirectGeometry geometry_;
  int64_t channels_;  // of a group's output
  llvm::Function* tiles_[2][2][2] = {};
  llvm::Function* copy_ = nullptr;
  std::vector<std::pair<Tile, llvm::Function*>> symbolic_tiles_;
  // Floats from one phase of a plane to the next, and from plane to plane.
  Value *slot_stride_ = nullptr, *plane_stride_ = nullptr;
  Value* columns_ = nullptr;  // of the chunk: the length of a row of its planes
  // Lanes of the last vector: of the tile function being emitted, and of the next call.
  Value *mask_ = nullptr, *active_ = nullptr;
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
