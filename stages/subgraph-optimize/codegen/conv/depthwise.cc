// Depthwise convolution, channels last: vectors run along the channels, and a register tile is
// several output pixels of one row. Rows of the kernel outside the image are left out of the loop;
// pixels whose kernel columns are not all inside have a tile of their own.
#include <algorithm>

#include "stages/subgraph-optimize/codegen/ceil_div.h"
#include "stages/subgraph-optimize/codegen/conv/conv_kinds.h"
#include "stages/subgraph-optimize/codegen/cost.h"
#include "stages/subgraph-optimize/codegen/emit/choice.h"
#include "stages/subgraph-optimize/codegen/emit/elements.h"
#include "stages/subgraph-optimize/codegen/emit/epilogue_emitter.h"
#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"
#include "stages/subgraph-optimize/codegen/emit/object_emitter.h"

namespace sluice {
namespace {

using llvm::Value;

// A tile function: void(x, weights, y, kernel rows, first kw, last kw, operands...). x is the input
// pixel under the first given kernel row and kernel column 0; the first and last kw are read at the
// border only. A symbolic function takes KernelArgs.symbols last.
struct Tile {
  int pixels = 1;
  int vectors = 1;
  int active = 1;  // lanes of the last vector
  bool at_border = false;
};

// Emits the tile functions and the loops around them:
//
//   for item in the block's (output row of all images, channel tile), channel tile fastest:
//     [kh begin, kh end) = the kernel rows inside the image
//     for ow left of the inner columns:             border tile, 1 pixel
//     for ow in the inner columns by plan.pixels:   inner tile; then one tile for the remainder
//                                                   (symbolic: loops of falling_sizes instead)
//     for ow right of the inner columns:            border tile, 1 pixel
//
//   tile: acc[pixels][vectors] = 0
//     for kh in [kh begin, kh end):
//       for kw (inner: all, written out; border: a loop over [first kw, last kw)):
//         acc[i][j] += x[kh][(ow + i) * stride_w + kw * dilation_w][j] * w[kh][kw][j]
//     y[ow + i][j] = epilogue(acc[i][j])
class DepthwiseEmitter {
 public:
  DepthwiseEmitter(const ConvSpec& spec, const DeviceProfile& profile, const DepthwisePlan& plan)
      : s_(spec),
        b_(profile),
        plan_(plan),
        is_symbolic_(!is_fixed(spec)),
        in_memory_(b_, spec.dtype),
        stored_(b_, spec.epilogue.stored(DType::kF32)),
        channel_tiles_(ceil_div(spec.co, int64_t{plan.lanes} * plan.vectors)) {
    // The inner output columns are those whose kernel columns are all inside the image.
    first_inner_ = std::min(s_.ow.factor, ceil_div(s_.pad_left, s_.stride_w));
    const int64_t slack = s_.w.factor - 1 + s_.pad_left - (s_.kw - 1) * s_.dilation_w;
    last_inner_ = slack < 0
                      ? first_inner_
                      : std::clamp<int64_t>(slack / s_.stride_w + 1, first_inner_, s_.ow.factor);
  }

  Result<GeneratedKernel> emit(const std::string& entry) {
    for (bool channel_remainder : {false, true}) emit_tiles(channel_remainder);
    b_.begin_kernel(entry);
    y_ = b_.pointer_argument(0);
    x_ = b_.pointer_argument(1);
    weights_ = b_.pointer_argument(2);
    operands_ = b_.pointer_arguments(3, s_.epilogue.operands.size());
    // The items are the rows of all images, channel tiles fastest.
    if (is_symbolic_) b_.set_symbols(b_.symbols_argument());
    if (is_symbolic_) find_inner();
    const Extent items = s_.n * s_.oh * channel_tiles_;
    const auto range = b_.partition(b_.value(items), b_.block(),
                                    is_symbolic_ ? b_.blocks() : b_.index(plan_.blocks));
    if (is_symbolic_) {
      emit_symbolic_rows(range.first, range.second);
    } else {
      b_.loop(range.first, range.second, 1, [&](Value* item) {
        Value* channel_tile = b_.mod(item, channel_tiles_);
        Value* row = b_.div(item, channel_tiles_);
        Value* image = b_.div(row, s_.oh.factor);
        emit_row(row, image, b_.mod(row, s_.oh.factor), channel_tile);
      });
    }
    b_.ret_void();
    SLUICE_ASSIGN(GeneratedKernel kernel, b_.finish(entry));
    kernel.cycles = plan_.cycles;
    kernel.blocks = plan_.blocks;
    kernel.multiply_adds = s_.n * s_.oh * s_.ow * (s_.co * s_.kh * s_.kw);
    if (is_symbolic_)
      kernel.multiply_adds_per_block =
          multiply_adds_per_block(kernel.multiply_adds, plan_.cycles, b_.profile());
    return kernel;
  }

 private:
  int64_t tile_channels() const { return int64_t{plan_.lanes} * plan_.vectors; }
  bool has_whole_tiles() const { return s_.co >= tile_channels(); }
  bool has_channel_remainder() const { return s_.co % tile_channels() != 0; }
  int64_t inner() const { return last_inner_ - first_inner_; }

  void emit_tiles(bool channel_remainder) {
    if (channel_remainder ? !has_channel_remainder() : !has_whole_tiles()) return;
    Tile tile{plan_.pixels, plan_.vectors, plan_.lanes, false};
    if (channel_remainder) {
      const int remainder = static_cast<int>(s_.co % tile_channels());
      tile.vectors = static_cast<int>(ceil_div(remainder, plan_.lanes));
      tile.active = remainder - (tile.vectors - 1) * plan_.lanes;
    }
    if (is_symbolic_) return emit_symbolic_tiles(tile, channel_remainder);
    if (inner() >= plan_.pixels) inner_[channel_remainder] = emit_tile(tile);
    tile.pixels = static_cast<int>(inner() % plan_.pixels);
    if (tile.pixels > 0) inner_remainder_[channel_remainder] = emit_tile(tile);
    tile.pixels = 1;
    tile.at_border = true;
    if (inner() < s_.ow.factor) border_[channel_remainder] = emit_tile(tile);
  }

  // Emits tiles of falling sizes only: one for every number of pixels would take several times
  // longer to compile and would run no faster.
  void emit_symbolic_tiles(Tile tile, bool channel_remainder) {
    for (const int pixels : falling_sizes(plan_.pixels)) {
      tile.pixels = pixels;
      by_size_[channel_remainder].push_back(emit_tile(tile));
    }
    tile.pixels = 1;
    tile.at_border = true;
    border_[channel_remainder] = emit_tile(tile);
  }

  llvm::Function* emit_tile(const Tile& tile) {
    std::vector<llvm::Type*> parameters(3, b_.pointer_type());
    parameters.insert(parameters.end(), 3, b_.index_type());
    parameters.insert(parameters.end(), s_.epilogue.operands.size(), b_.pointer_type());
    if (is_symbolic_) parameters.push_back(b_.pointer_type());
    llvm::Function* function = b_.begin_function("tile", parameters);
    if (is_symbolic_)
      b_.set_symbols(function->getArg(static_cast<unsigned>(parameters.size() - 1)));
    IrValues carried(static_cast<size_t>(tile.pixels) * tile.vectors, b_.splat(0.0f, plan_.lanes));
    carried.push_back(function->getArg(0));
    carried.push_back(function->getArg(1));
    carried =
        b_.loop(b_.index(0), function->getArg(3), 1, carried, [&](Value*, const IrValues& values) {
          IrValues sums(values.begin(), values.end() - 2);
          Value* x = values[values.size() - 2];
          Value* weights = values.back();
          if (tile.at_border) {
            sums =
                b_.loop(function->getArg(4), function->getArg(5), 1, sums,
                        [&](Value* kw, const IrValues& inside) {
                          IrValues next = inside;
                          step(tile, in_memory_.at_anywhere(x, b_.mul(kw, s_.dilation_w * s_.ci)),
                               in_memory_.at(weights, b_.mul(kw, plan_.nr)), next);
                          return next;
                        });
          } else {
            for (int64_t kw = 0; kw < s_.kw; ++kw)
              step(tile, in_memory_.at(x, kw * s_.dilation_w * s_.ci),
                   in_memory_.at(weights, kw * plan_.nr), sums);
          }
          sums.push_back(in_memory_.at_anywhere(x, b_.value(s_.w * (s_.dilation_h * s_.ci))));
          sums.push_back(in_memory_.at(weights, s_.kw * plan_.nr));
          return sums;
        });
    finish(tile, *function, carried);
    b_.ret_void();
    return function;
  }

  int active(const Tile& tile, int vector) const {
    return vector == tile.vectors - 1 ? tile.active : plan_.lanes;
  }

  // Adds the products of one kernel position.
  void step(const Tile& tile, Value* x, Value* weights, IrValues& sums) {
    IrValues factors;
    for (int j = 0; j < tile.vectors; ++j)
      factors.push_back(in_memory_.load_vector(in_memory_.at(weights, j * plan_.lanes), plan_.lanes,
                                               plan_.lanes));
    for (int i = 0; i < tile.pixels; ++i) {
      for (int j = 0; j < tile.vectors; ++j) {
        Value* address = in_memory_.at(x, i * s_.stride_w * s_.ci + j * plan_.lanes);
        Value* pixel = in_memory_.load_vector(address, plan_.lanes, active(tile, j));
        Value*& sum = sums[static_cast<size_t>(i) * tile.vectors + j];
        sum = b_.multiply_add(pixel, factors[j], sum);
      }
    }
    // Otherwise the pixels that the next position reads again would be kept, in more registers than
    // exist.
    b_.keep_memory_order();
  }

  void finish(const Tile& tile, llvm::Function& function, const IrValues& sums) {
    for (int i = 0; i < tile.pixels; ++i) {
      for (int j = 0; j < tile.vectors; ++j) {
        Value* result = emit_epilogue(
            b_, s_.epilogue, sums[static_cast<size_t>(i) * tile.vectors + j], [&](int n) {
              const EpilogueOperand& operand = s_.epilogue.operands[n];
              const int64_t column = j * plan_.lanes * operand.column_stride.factor;
              Elements elements = operand_elements(static_cast<size_t>(n));
              Value* address = function.getArg(6 + static_cast<unsigned>(n));
              if (operand.row_stride.is_fixed()) {
                address = elements.at(address, i * operand.row_stride.factor + column);
              } else {
                address = elements.at(elements.at(address, b_.mul(b_.index(i), operand.row_stride)),
                                      column);
              }
              if (operand.column_stride.is_fixed_at(0))
                return b_.broadcast(elements.load(address), plan_.lanes);
              return elements.load_vector(address, plan_.lanes, active(tile, j));
            });
        stored_.store_vector(result, stored_.at(function.getArg(2), i * s_.co + j * plan_.lanes),
                             active(tile, j));
      }
    }
  }

  Elements operand_elements(size_t n) { return {b_, s_.epilogue.operand_dtype(n)}; }

  Value* positive(Value* a) {
    return b_.ir().CreateSelect(b_.ir().CreateICmpSGT(a, b_.index(0)), a, b_.index(0));
  }

  // Emits the rows of a symbolic kernel without a division by the image's rows for each.
  void emit_symbolic_rows(Value* begin, Value* end) {
    Value* high = b_.value(s_.oh);
    Value* divisor = b_.max(high, b_.index(1));  // without a row there is no item
    Value* first = b_.div(begin, channel_tiles_);
    const IrValues start = {b_.div(first, divisor), b_.mod(first, divisor)};
    b_.loop(begin, end, 1, start, [&](Value* item, const IrValues& at) {
      Value* channel_tile = b_.mod(item, channel_tiles_);
      emit_row(b_.div(item, channel_tiles_), at[0], at[1], channel_tile);
      const auto count = [&](Value* condition) {
        return b_.ir().CreateZExt(condition, b_.index_type());
      };
      Value* next =
          b_.add(at[1], count(b_.ir().CreateICmpEQ(channel_tile, b_.index(channel_tiles_ - 1))));
      Value* ends = b_.ir().CreateICmpEQ(next, high);
      return IrValues{b_.add(at[0], count(ends)), b_.ir().CreateSelect(ends, b_.index(0), next)};
    });
  }

  // Emits one output row; `row` counts over all images, `in_image` within its image.
  void emit_row(Value* row, Value* image, Value* in_image, Value* channel_tile) {
    Value* top = b_.add(b_.mul(in_image, s_.stride_h), b_.index(-s_.pad_top));
    // These are the kernel rows inside the image.
    Value* above = b_.ir().CreateNeg(top);
    Value* kh_begin = b_.div(b_.add(positive(above), b_.index(s_.dilation_h - 1)), s_.dilation_h);
    Value* kh_end =
        b_.div(b_.add(positive(b_.add(above, b_.value(s_.h))), b_.index(s_.dilation_h - 1)),
               s_.dilation_h);
    kh_end = b_.min(kh_end, b_.index(s_.kh));
    Value* channel = b_.mul(channel_tile, tile_channels());
    Value* input_row = b_.add(b_.mul(image, s_.h), b_.add(top, b_.mul(kh_begin, s_.dilation_h)));
    Value* x = in_memory_.at_anywhere(x_, b_.add(b_.mul(input_row, s_.w * s_.ci), channel));
    Value* weights = in_memory_.at(weights_, b_.add(b_.mul(kh_begin, s_.kw * plan_.nr), channel));
    const Row place{x, weights, b_.ir().CreateSub(kh_end, kh_begin), row, image, in_image, channel};
    if (!has_channel_remainder()) return emit_pixels(place, false);
    if (!has_whole_tiles()) return emit_pixels(place, true);
    b_.if_else(
        b_.ir().CreateICmpSLT(channel_tile, b_.index(s_.co / tile_channels())),
        [&] { emit_pixels(place, false); }, [&] { emit_pixels(place, true); });
  }

  struct Row {
    Value *x, *weights, *kernel_rows, *number, *image, *in_image, *channel;
  };

  void emit_pixels(const Row& row, bool channel_remainder) {
    const auto at_border = [&](Value* begin, Value* end) {
      b_.loop(begin, end, 1, [&](Value* ow) {
        Value* left = b_.ir().CreateNeg(b_.add(b_.mul(ow, s_.stride_w), b_.index(-s_.pad_left)));
        Value* kw_begin =
            b_.div(b_.add(positive(left), b_.index(s_.dilation_w - 1)), s_.dilation_w);
        Value* kw_end =
            b_.div(b_.add(positive(b_.add(left, b_.value(s_.w))), b_.index(s_.dilation_w - 1)),
                   s_.dilation_w);
        call(border_[channel_remainder], row, ow, kw_begin, b_.min(kw_end, b_.index(s_.kw)));
      });
    };
    Value* all = b_.index(s_.kw);
    if (is_symbolic_) {
      at_border(b_.index(0), inner_begin_);
      emit_inner(row, channel_remainder, all);
      return at_border(inner_end_, b_.value(s_.ow));
    }
    at_border(b_.index(0), b_.index(first_inner_));
    const int64_t whole = first_inner_ + inner() / plan_.pixels * plan_.pixels;
    b_.loop(b_.index(first_inner_), b_.index(whole), plan_.pixels,
            [&](Value* ow) { call(inner_[channel_remainder], row, ow, b_.index(0), all); });
    if (whole < last_inner_)
      call(inner_remainder_[channel_remainder], row, b_.index(whole), b_.index(0), all);
    at_border(b_.index(last_inner_), b_.index(s_.ow.factor));
  }

  // Emits the bounds that the constructor computes for fixed sizes, and those of the tiles between
  // them.
  void find_inner() {
    Value *one = b_.index(1), *wide = b_.value(s_.ow);
    inner_begin_ = b_.min(wide, b_.index(ceil_div(s_.pad_left, s_.stride_w)));
    Value* slack = b_.add(b_.value(s_.w), b_.index(s_.pad_left - 1 - (s_.kw - 1) * s_.dilation_w));
    Value* end = b_.min(b_.add(b_.div(positive(slack), s_.stride_w), one), wide);
    end = b_.ir().CreateSelect(b_.ir().CreateICmpSLT(slack, b_.index(0)), inner_begin_, end);
    inner_end_ = b_.max(end, inner_begin_);
    Value* begin = inner_begin_;
    for (const int size : falling_sizes(plan_.pixels)) {
      begin = b_.add(begin, b_.mul(b_.div(b_.sub(inner_end_, begin), size), size));
      tiles_end_.push_back(begin);
    }
  }

  // Emits the loops over the inner columns, one per tile size.
  void emit_inner(const Row& row, bool channel_remainder, Value* all) {
    Value* begin = inner_begin_;
    const std::vector<int> sizes = falling_sizes(plan_.pixels);
    for (size_t n = 0; n < sizes.size(); ++n) {
      b_.loop(begin, tiles_end_[n], sizes[n],
              [&](Value* ow) { call(by_size_[channel_remainder][n], row, ow, b_.index(0), all); });
      begin = tiles_end_[n];
    }
  }

  void call(llvm::Function* tile, const Row& row, Value* ow, Value* kw_begin, Value* kw_end) {
    Value* column = b_.add(b_.mul(ow, s_.stride_w), b_.index(-s_.pad_left));
    Value* pixel = b_.add(b_.mul(row.number, s_.ow), ow);
    // For fixed sizes a division by a constant is cheaper than a register kept for the result.
    Value* in_image =
        b_.add(b_.mul(is_symbolic_ ? row.in_image : b_.mod(row.number, s_.oh.factor), s_.ow), ow);
    IrValues arguments = {in_memory_.at_anywhere(row.x, b_.mul(column, s_.ci)),
                          row.weights,
                          stored_.at(y_, b_.add(b_.mul(pixel, s_.co), row.channel)),
                          row.kernel_rows,
                          kw_begin,
                          kw_end};
    for (size_t n = 0; n < operands_.size(); ++n) {
      const EpilogueOperand& operand = s_.epilogue.operands[n];
      Value* offset = operand.batch_strides.empty()
                          ? b_.mul(pixel, operand.row_stride)
                          : b_.add(b_.mul(row.image, operand.batch_strides[0]),
                                   b_.mul(in_image, operand.row_stride));
      arguments.push_back(operand_elements(n).at(
          operands_[n], b_.add(offset, b_.mul(row.channel, operand.column_stride))));
    }
    if (is_symbolic_) arguments.push_back(b_.symbols());
    b_.ir().CreateCall(tile, arguments);
  }

  const ConvSpec& s_;
  KernelBuilder b_;
  const DepthwisePlan& plan_;
  bool is_symbolic_;
  Elements in_memory_, stored_;  // x and the weights, and y
  int64_t channel_tiles_;
  int64_t first_inner_ = 0, last_inner_ = 0;
  llvm::Function *inner_[2] = {}, *inner_remainder_[2] = {}, *border_[2] = {};
  // For symbolic sizes: tile functions by falling_sizes, the inner output columns, and the end of
  // the tiles of each size.
  std::vector<llvm::Function*> by_size_[2];
  Value *inner_begin_ = nullptr, *inner_end_ = nullptr;
  IrValues tiles_end_;
  Value *x_ = nullptr, *y_ = nullptr, *weights_ = nullptr;
  IrValues operands_;
};

}  // namespace

Result<GeneratedKernel> generate_depthwise(const DepthwiseSpec& spec,
                                           const DeviceProfile& profile) {
  SLUICE_TRY(check_conv(spec.conv));
  SLUICE_TRY(check_epilogue(spec.conv.epilogue, 1));
  const DepthwisePlan plan = choose_depthwise_plan(spec.conv, profile);
  if (!plan.possible)
    return make_error(ErrorCode::kNotLowerable,
                      "not a depthwise convolution that can be written out");
  return DepthwiseEmitter(spec.conv, profile, plan)
      .emit(kernel_entry(canonical_text(spec), profile));
}

}  // namespace sluice
