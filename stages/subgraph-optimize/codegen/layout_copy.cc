// Copies between NCHW and NHWC in square tiles of one vector per row, transposed in registers.
#include <algorithm>

#include "fmt/format.h"
#include "stages/subgraph-optimize/codegen/ceil_div.h"
#include "stages/subgraph-optimize/codegen/conv_kinds.h"
#include "stages/subgraph-optimize/codegen/int8_emitter.h"
#include "stages/subgraph-optimize/codegen/object_emitter.h"
#include "stages/subgraph-optimize/codegen/register_transpose.h"

namespace sluice {
namespace {

using llvm::Value;

// Emits source[rows][columns] -> destination[columns][rows], `images` times:
//
//   fixed:    for item in the block's (image, row tile, column tile), column tile fastest: tile
//   symbolic: for line in the block's (image, channel tile):
//               for pixel tile that is whole: tile; one call, the loop is in the tile function
//               for pixel of the remainder, channel (written out): one element
//
//   tile: for row i (written out): v[i] = source[row + i][column...]
//         transpose v in registers
//         for column i (written out): destination[column + i][row...] = v[i]
class Transposition {
 public:
  Transposition(const LayoutCopySpec& spec, const DeviceProfile& profile)
      : b_(profile),
        is_symbolic_(!is_fixed(spec)),
        to_channels_last_(spec.to_channels_last),
        images_(spec.n),
        rows_(spec.to_channels_last ? Extent(spec.channels) : spec.pixels),
        columns_(spec.to_channels_last ? spec.pixels : Extent(spec.channels)),
        is_bytes_(spec.element_bytes == 1),
        tile_(is_bytes_ ? 16 : profile.vector_bits / 32) {}

  Result<GeneratedKernel> emit(const std::string& entry) {
    const int64_t nominal_items =
        images_.nominal * ceil_div(rows_.nominal, tile_) * ceil_div(columns_.nominal, tile_);
    constexpr int64_t kBlockElements = 16384;
    constexpr int64_t kMaxBlocks = 32;
    const Extent elements = images_ * rows_ * columns_;
    const int64_t blocks = is_symbolic_ ? kMaxBlocks
                                        : std::clamp<int64_t>(elements.factor / kBlockElements, 1,
                                                              std::min(nominal_items, kMaxBlocks));
    for (bool row_remainder : {false, true}) {
      for (bool column_remainder : {false, true}) emit_tile(row_remainder, column_remainder);
    }
    b_.begin_kernel(entry);
    if (is_symbolic_) b_.set_symbols(b_.symbols_argument());
    to_ = b_.pointer_argument(0);
    from_ = b_.pointer_argument(1);
    row_tiles_ = b_.ceil_div(b_.value(rows_), b_.index(tile_));
    column_tiles_ = b_.ceil_div(b_.value(columns_), b_.index(tile_));
    Value* items = b_.mul(b_.mul(column_tiles_, row_tiles_), images_);
    const auto range =
        b_.partition(items, b_.block(), is_symbolic_ ? b_.blocks() : b_.index(blocks));
    if (is_symbolic_) {
      emit_lines(range.first, range.second);
    } else {
      b_.loop(range.first, range.second, 1, [&](Value* item) {
        Value* column_tile = b_.mod(item, column_tiles_);
        Value* remainder = b_.div(item, column_tiles_);
        Value* image = b_.div(remainder, row_tiles_);
        emit_item(image, b_.mod(remainder, row_tiles_), column_tile);
      });
    }
    b_.ret_void();
    SLUICE_ASSIGN(GeneratedKernel kernel, b_.finish(entry));
    kernel.blocks = static_cast<uint32_t>(blocks);
    if (!is_symbolic_) return kernel;
    kernel.multiply_adds = elements;
    kernel.multiply_adds_per_block = kBlockElements;
    return kernel;
  }

 private:
  // Emits items [begin, end) in the order (image, channel tile, pixel tile), without a division for
  // each.
  void emit_lines(Value* begin, Value* end) {
    const bool pixels_are_rows = !to_channels_last_;
    const Extent &pixels = pixels_are_rows ? rows_ : columns_,
                 &channels = pixels_are_rows ? columns_ : rows_;
    const int64_t channel_tiles = ceil_div(channels.factor, tile_);
    Value* pixel_tiles = b_.ceil_div(b_.value(pixels), b_.index(tile_));
    Value* whole = b_.div(b_.value(pixels), tile_);
    // Without a pixel no item exists; its division must have a divisor all the same.
    Value* divisor = b_.max(pixel_tiles, b_.index(1));
    b_.loop(b_.div(begin, divisor), b_.ceil_div(end, divisor), 1, [&](Value* line) {
      Value* image = b_.div(line, channel_tiles);
      Value* channel_tile = b_.mod(line, channel_tiles);
      Value* before = b_.mul(line, pixel_tiles);
      Value* first = b_.max(b_.sub(begin, before), b_.index(0));
      Value* last = b_.min(b_.sub(end, before), pixel_tiles);
      choose(channel_tile, channels, [&](bool channel_remainder) {
        // count: the whole tiles, or the pixels of the remainder.
        const auto call = [&](Value* pixel_tile, bool pixel_remainder, Value* count) {
          Value *row_tile = channel_tile, *column_tile = pixel_tile;
          if (pixels_are_rows) std::swap(row_tile, column_tile);
          llvm::Function* tile = pixels_are_rows ? tiles_[pixel_remainder][channel_remainder]
                                                 : tiles_[channel_remainder][pixel_remainder];
          if (tile == nullptr) return;  // no such remainder exists
          IrValues arguments = addresses(image, row_tile, column_tile);
          arguments.insert(arguments.end(), {b_.symbols(), count});
          b_.ir().CreateCall(tile, arguments);
        };
        call(first, false, b_.sub(b_.min(last, whole), first));
        b_.loop(b_.max(first, whole), last, 1, [&](Value* pixel_tile) {
          call(pixel_tile, true, b_.sub(b_.value(pixels), b_.mul(pixel_tile, tile_)));
        });
      });
    });
  }

  // Returns the addresses that a tile is written to and read from.
  IrValues addresses(Value* image_number, Value* row_tile, Value* column_tile) {
    Value* image = b_.mul(image_number, rows_ * columns_);
    Value* row = b_.mul(row_tile, tile_);
    Value* column = b_.mul(column_tile, tile_);
    return {at(to_, b_.add(image, b_.add(b_.mul(column, rows_), row))),
            at(from_, b_.add(image, b_.add(b_.mul(row, columns_), column)))};
  }

  void emit_item(Value* image, Value* row_tile, Value* column_tile) {
    const IrValues arguments = addresses(image, row_tile, column_tile);
    choose(row_tile, rows_, [&](bool row_remainder) {
      choose(column_tile, columns_, [&](bool column_remainder) {
        b_.ir().CreateCall(tiles_[row_remainder][column_remainder], arguments);
      });
    });
  }

  // Runs body(is this the last tile, and not whole).
  void choose(Value* number, const Extent& size, const std::function<void(bool)>& body) {
    if (size.is_fixed() && size.factor % tile_ == 0) return body(false);
    if (size.is_fixed() && size.factor < tile_) return body(true);
    b_.if_else(
        b_.ir().CreateICmpSLT(number, b_.div(b_.value(size), tile_)), [&] { body(false); },
        [&] { body(true); });
  }

  void emit_tile(bool row_remainder, bool column_remainder) {
    const auto count = [&](const Extent& size, bool remainder) {
      return remainder && size.is_fixed() ? static_cast<int>(size.factor % tile_) : tile_;
    };
    const int rows = count(rows_, row_remainder), columns = count(columns_, column_remainder);
    const auto is_short = [](const Extent& size, int used) {
      return size.is_fixed() && used > size.factor;
    };
    if (rows == 0 || columns == 0 || is_short(rows_, rows) || is_short(columns_, columns)) return;
    std::vector<llvm::Type*> parameters(2, b_.pointer_type());
    if (is_symbolic_) parameters.insert(parameters.end(), {b_.pointer_type(), b_.index_type()});
    auto* function = b_.begin_function("tile", parameters);
    if (is_symbolic_) b_.set_symbols(function->getArg(2));
    if (!is_symbolic_) {
      emit_known_tile(function->getArg(0), function->getArg(1), rows, columns);
    } else if (row_remainder && !rows_.is_fixed()) {
      emit_symbolic_remainder(function->getArg(0), function->getArg(1), function->getArg(3),
                              columns);
    } else if (column_remainder && !columns_.is_fixed()) {
      emit_symbolic_remainder(function->getArg(0), function->getArg(1), function->getArg(3), rows);
    } else {
      emit_known_tiles(*function, rows, columns);
    }
    b_.ret_void();
    tiles_[row_remainder][column_remainder] = function;
  }

  // Emits a loop over tiles that follow each other along the pixels, as many as the function's last
  // argument says; a remainder of fixed pixels is one tile.
  void emit_known_tiles(llvm::Function& function, int rows, int columns) {
    const int pixels = to_channels_last_ ? columns : rows;
    Value* count = pixels < tile_ ? b_.index(1) : function.getArg(3);
    b_.loop(b_.index(0), count, 1, [&](Value* number) {
      Value* pixel = b_.mul(number, tile_);
      Value* along = b_.mul(pixel, to_channels_last_ ? rows_ : columns_);
      Value* to = at(function.getArg(0), to_channels_last_ ? along : pixel);
      Value* from = at(function.getArg(1), to_channels_last_ ? pixel : along);
      emit_known_tile(to, from, rows, columns);
    });
  }

  void emit_known_tile(Value* to, Value* from, int rows, int columns) {
    IrValues vectors;
    for (int i = 0; i < tile_; ++i) {
      vectors.push_back(i < rows ? load(row_of(from, b_.index(i)), columns) : nothing());
    }
    transpose_in_registers(b_, vectors);
    for (int i = 0; i < columns; ++i) store(vectors[i], column_of(to, b_.index(i)), rows);
  }

  Value* row_of(Value* from, Value* row) { return at(from, b_.mul(row, columns_)); }
  Value* column_of(Value* to, Value* column) { return at(to, b_.mul(column, rows_)); }

  // Emits fewer pixels than a tile has, with `channels` of the other axis: so few elements that
  // masks would not pay.
  void emit_symbolic_remainder(Value* to, Value* from, Value* pixels, int channels) {
    b_.loop(b_.index(0), pixels, 1, [&](Value* pixel) {
      for (int channel = 0; channel < channels; ++channel) {
        Value *row = b_.index(channel), *column = pixel;
        if (!to_channels_last_) std::swap(row, column);
        Value* number =
            b_.ir().CreateAlignedLoad(element(), at(row_of(from, row), column), alignment());
        b_.ir().CreateAlignedStore(number, at(column_of(to, column), row), alignment());
      }
    });
  }

  llvm::Type* element() { return is_bytes_ ? b_.ir().getInt8Ty() : b_.float_type(); }
  llvm::Align alignment() const { return llvm::Align(is_bytes_ ? 1 : 4); }
  Value* at(Value* pointer, Value* offset) {
    return b_.ir().CreateInBoundsGEP(element(), pointer, offset);
  }
  Value* nothing() {
    return llvm::Constant::getNullValue(
        llvm::FixedVectorType::get(element(), static_cast<unsigned>(tile_)));
  }
  Value* load(Value* pointer, int active) {
    return is_bytes_ ? Int8Emitter(b_).load_bytes(pointer, tile_, active)
                     : b_.load_vector(pointer, tile_, active);
  }
  void store(Value* vector, Value* pointer, int active) {
    is_bytes_ ? Int8Emitter(b_).store_bytes(vector, pointer, active)
              : b_.store_vector(vector, pointer, active);
  }

  KernelBuilder b_;
  bool is_symbolic_, to_channels_last_;
  Extent images_, rows_, columns_;
  bool is_bytes_;
  int tile_;
  llvm::Function* tiles_[2][2] = {};
  Value *to_ = nullptr, *from_ = nullptr, *row_tiles_ = nullptr, *column_tiles_ = nullptr;
};

}  // namespace

bool is_fixed(const LayoutCopySpec& s) { return s.n.is_fixed() && s.pixels.is_fixed(); }

std::string canonical_text(const LayoutCopySpec& s) {
  return fmt::format("layout copy {} {} {} {}{}", canonical_text(s.n), s.channels,
                     canonical_text(s.pixels), s.to_channels_last,
                     s.element_bytes == 4 ? "" : fmt::format(" of {} bytes", s.element_bytes));
}

Result<GeneratedKernel> generate_layout_copy(const LayoutCopySpec& spec,
                                             const DeviceProfile& profile) {
  if (spec.n.factor < 1 || spec.channels < 1 || spec.pixels.factor < 1)
    return make_error(ErrorCode::kCodegen, "layout copy: every size must be at least 1");
  if (spec.element_bytes != 1 && spec.element_bytes != 4)
    return make_error(ErrorCode::kCodegen, "layout copy: elements of {} bytes", spec.element_bytes);
  return Transposition(spec, profile).emit(kernel_entry(canonical_text(spec), profile));
}

}  // namespace sluice
