// Depthwise convolution of bytes, channels last: vectors run along the channels, and a register
// tile is several output pixels of one row. Zero points are subtracted as bytes are read, so that
// pixels outside the image are simply left out.
#include <algorithm>

#include "fmt/format.h"
#include "stages/subgraph-optimize/codegen/ceil_div.h"
#include "stages/subgraph-optimize/codegen/conv/conv_kinds.h"
#include "stages/subgraph-optimize/codegen/cost.h"
#include "stages/subgraph-optimize/codegen/emit/object_emitter.h"
#include "stages/subgraph-optimize/codegen/int8/int8_emitter.h"

namespace sluice {
namespace {

using llvm::Value;

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
//     for ow right of the inner columns:            border tile, 1 pixel
//
//   tile: acc[pixels][vectors] = 0
//     for kh in [kh begin, kh end):
//       for kw (inner: all, written out; border: a loop over [first kw, last kw)):
//         a = x[kh][(ow + i) * stride_w + kw * dilation_w][j] - x zero
//         acc[i][j] += a * (w[kh][kw][j] - w zero[j])
//     y[ow + i][j] = result(acc[i][j] + bias[j])
class Int8DepthwiseEmitter {
 public:
  Int8DepthwiseEmitter(const Int8DepthwiseSpec& spec, const DeviceProfile& profile)
      : spec_(spec),
        s_(spec.conv),
        b_(profile),
        ints_(b_),
        plan_(choose_int8_depthwise_plan(spec.conv, profile)),
        channel_tiles_(ceil_div(spec.conv.co, tile_channels())) {
    // The inner output columns are those whose kernel columns are all inside the image.
    first_inner_ = std::min(s_.ow.nominal, ceil_div(s_.pad_left, s_.stride_w));
    const int64_t slack = s_.w.nominal - 1 + s_.pad_left - (s_.kw - 1) * s_.dilation_w;
    last_inner_ = slack < 0
                      ? first_inner_
                      : std::clamp<int64_t>(slack / s_.stride_w + 1, first_inner_, s_.ow.nominal);
  }

  Result<GeneratedKernel> emit(const std::string& entry) {
    for (bool channel_remainder : {false, true}) emit_tiles(channel_remainder);
    b_.begin_kernel(entry);
    if (!is_fixed(s_)) b_.set_symbols(b_.symbols_argument());
    p_ = int8_pointers(b_, spec_.numbers, s_.epilogue);
    // The items are the rows of all images, channel tiles fastest.
    const auto range = item_range();
    b_.loop(range.first, range.second, 1, [&](Value* item) {
      emit_row(b_.div(item, channel_tiles_), b_.mod(item, channel_tiles_));
    });
    b_.ret_void();
    SLUICE_ASSIGN(GeneratedKernel kernel, b_.finish(entry));
    kernel.blocks = is_fixed(s_) ? plan_.blocks : kMaxContractionBlocks;
    kernel.cycles = plan_.cycles;
    kernel.multiply_adds = s_.n * s_.oh * s_.ow * (s_.co * s_.kh * s_.kw);
    if (!is_fixed(s_))
      kernel.multiply_adds_per_block =
          multiply_adds_per_block(kernel.multiply_adds, plan_.cycles, b_.profile());
    return kernel;
  }

 private:
  // A tile function: void(x, weights, y, kernel rows, first kw, last kw, x zero, w zero, bias,
  // operands...). x is the input pixel under the first given kernel row and kernel column 0; first
  // and last kw are read at the border only.
  enum Argument : unsigned { kX, kW, kY, kRows, kFirst, kLast, kXZero, kWZero, kBias, kOperands };

  // Returns the block's items. With a symbolic number of images any number of blocks may be
  // launched.
  std::pair<Value*, Value*> item_range() {
    if (is_fixed(s_))
      return b_.partition((s_.n * s_.oh).factor * channel_tiles_, b_.block(), plan_.blocks);
    return b_.partition(b_.value(s_.n * s_.oh * channel_tiles_), b_.block(), b_.blocks());
  }

  int64_t tile_channels() const { return int64_t{plan_.lanes} * plan_.vectors; }
  bool has_whole_tiles() const { return s_.co >= tile_channels(); }
  bool has_channel_remainder() const { return s_.co % tile_channels() != 0; }
  int64_t inner() const { return last_inner_ - first_inner_; }
  int64_t y_bytes() const { return int8_stored_bytes(s_.epilogue); }

  void emit_tiles(bool channel_remainder) {
    if (channel_remainder ? !has_channel_remainder() : !has_whole_tiles()) return;
    Tile tile{plan_.pixels, plan_.vectors, plan_.lanes, false};
    if (channel_remainder) {
      const int remainder = static_cast<int>(s_.co % tile_channels());
      tile.vectors = static_cast<int>(ceil_div(remainder, plan_.lanes));
      tile.active = remainder - (tile.vectors - 1) * plan_.lanes;
    }
    if (inner() >= plan_.pixels) inner_[channel_remainder] = emit_tile(tile);
    tile.pixels = static_cast<int>(inner() % plan_.pixels);
    if (tile.pixels > 0) inner_remainder_[channel_remainder] = emit_tile(tile);
    tile.pixels = 1;
    tile.at_border = true;
    if (inner() < s_.ow.nominal) border_[channel_remainder] = emit_tile(tile);
  }

  llvm::Function* emit_tile(const Tile& tile) {
    std::vector<llvm::Type*> parameters(kOperands + s_.epilogue.operands.size(), b_.pointer_type());
    for (const Argument number : {kRows, kFirst, kLast}) parameters[number] = b_.index_type();
    parameters[kXZero] = b_.ir().getInt32Ty();
    llvm::Function* function = b_.begin_function("tile", parameters);
    x_zero_ = b_.broadcast(function->getArg(kXZero), plan_.lanes);
    w_zero_.assign(static_cast<size_t>(tile.vectors), nullptr);
    for (int j = 0; j < tile.vectors && spec_.numbers.has_w_zero; ++j)
      w_zero_[j] = ints_.load_ints(b_.at(function->getArg(kWZero), int64_t{j} * plan_.lanes),
                                   plan_.lanes, active(tile, j));
    finish(tile, *function, reduce(tile, *function));
    b_.ret_void();
    return function;
  }

  IrValues reduce(const Tile& tile, llvm::Function& function) {
    IrValues carried(static_cast<size_t>(tile.pixels) * tile.vectors, ints_.ints(0, plan_.lanes));
    carried.push_back(function.getArg(kX));
    carried.push_back(function.getArg(kW));
    return b_.loop(
        b_.index(0), function.getArg(kRows), 1, carried, [&](Value*, const IrValues& values) {
          IrValues sums(values.begin(), values.end() - 2);
          Value* x = values[values.size() - 2];
          Value* w = values.back();
          if (tile.at_border) {
            sums = b_.loop(function.getArg(kFirst), function.getArg(kLast), 1, sums,
                           [&](Value* kw, const IrValues& inside) {
                             IrValues next = inside;
                             step(tile, ints_.bytes_at(x, b_.mul(kw, s_.dilation_w * s_.ci)),
                                  ints_.bytes_at(w, b_.mul(kw, plan_.nr)), next);
                             return next;
                           });
          } else {
            for (int64_t kw = 0; kw < s_.kw; ++kw)
              step(tile, ints_.bytes_at(x, kw * s_.dilation_w * s_.ci),
                   ints_.bytes_at(w, kw * plan_.nr), sums);
          }
          sums.push_back(ints_.bytes_at(x, s_.dilation_h * s_.w.nominal * s_.ci));
          sums.push_back(ints_.bytes_at(w, s_.kw * plan_.nr));
          return sums;
        });
  }

  int active(const Tile& tile, int vector) const {
    return vector == tile.vectors - 1 ? tile.active : plan_.lanes;
  }

  // Returns weights as pairs of 16 bits, of which the upper one is 0.
  Value* load_weight(Value* w, int vector) {
    Value* number = ints_.widened(ints_.load_bytes(ints_.bytes_at(w, int64_t{vector} * plan_.lanes),
                                                   plan_.lanes, plan_.lanes),
                                  32, true);
    if (w_zero_[vector] != nullptr) number = b_.ir().CreateSub(number, w_zero_[vector]);
    return as_pairs(b_.ir().CreateAnd(number, ints_.ints(0xffff, plan_.lanes)));
  }

  Value* as_pairs(Value* vector) {
    return b_.ir().CreateBitCast(vector,
                                 llvm::FixedVectorType::get(b_.ir().getInt16Ty(), 2 * plan_.lanes));
  }

  // Adds the products of one kernel position.
  void step(const Tile& tile, Value* x, Value* w, IrValues& sums) {
    IrValues factors;
    for (int j = 0; j < tile.vectors; ++j) factors.push_back(load_weight(w, j));
    for (int i = 0; i < tile.pixels; ++i) {
      for (int j = 0; j < tile.vectors; ++j) {
        Value* bytes =
            ints_.load_bytes(ints_.bytes_at(x, i * s_.stride_w * s_.ci + j * plan_.lanes),
                             plan_.lanes, active(tile, j));
        Value* pixel = b_.ir().CreateSub(ints_.widened(bytes, 32, spec_.numbers.x_signed), x_zero_);
        Value*& sum = sums[static_cast<size_t>(i) * tile.vectors + j];
        sum = ints_.add_products_of_pairs(sum, as_pairs(pixel), factors[j]);
      }
    }
    // Otherwise the pixels that the next position reads again would be kept, in more registers than
    // exist.
    b_.keep_memory_order();
  }

  void finish(const Tile& tile, llvm::Function& function, const IrValues& sums) {
    for (int j = 0; j < tile.vectors; ++j) {
      Value* bias = nullptr;
      if (spec_.numbers.has_bias)
        bias = ints_.load_ints(b_.at(function.getArg(kBias), int64_t{j} * plan_.lanes), plan_.lanes,
                               active(tile, j));
      for (int i = 0; i < tile.pixels; ++i) {
        Value* sum = sums[static_cast<size_t>(i) * tile.vectors + j];
        if (bias != nullptr) sum = b_.ir().CreateAdd(sum, bias);
        const auto load = [&](int n) {
          const EpilogueOperand& operand = s_.epilogue.operands[n];
          Value* address = b_.at(
              function.getArg(kOperands + static_cast<unsigned>(n)),
              i * operand.row_stride.nominal + j * plan_.lanes * operand.column_stride.nominal);
          if (operand.column_stride.nominal == 0)
            return b_.broadcast(b_.load_float(address), plan_.lanes);
          return b_.load_vector(address, plan_.lanes, active(tile, j));
        };
        ints_.finish(sum, s_.epilogue, load,
                     ints_.bytes_at(function.getArg(kY), (i * s_.co + j * plan_.lanes) * y_bytes()),
                     active(tile, j));
      }
    }
  }

  Value* positive(Value* a) {
    return b_.ir().CreateSelect(b_.ir().CreateICmpSGT(a, b_.index(0)), a, b_.index(0));
  }

  struct Row {
    Value *x, *weights, *kernel_rows, *number, *image, *channel;
  };

  void emit_row(Value* row, Value* channel_tile) {
    Value* image = b_.div(row, s_.oh.nominal);
    Value* top = b_.add(b_.mul(b_.mod(row, s_.oh.nominal), s_.stride_h), b_.index(-s_.pad_top));
    // These are the kernel rows inside the image.
    Value* above = b_.ir().CreateNeg(top);
    Value* kh_begin = b_.div(b_.add(positive(above), b_.index(s_.dilation_h - 1)), s_.dilation_h);
    Value* kh_end =
        b_.div(b_.add(positive(b_.add(above, b_.index(s_.h.nominal))), b_.index(s_.dilation_h - 1)),
               s_.dilation_h);
    kh_end = b_.min(kh_end, b_.index(s_.kh));
    Value* channel = b_.mul(channel_tile, tile_channels());
    Value* input_row =
        b_.add(b_.mul(image, s_.h.nominal), b_.add(top, b_.mul(kh_begin, s_.dilation_h)));
    const Row place{ints_.bytes_at(p_.x, b_.add(b_.mul(input_row, s_.w.nominal * s_.ci), channel)),
                    ints_.bytes_at(p_.weights, b_.add(b_.mul(kh_begin, s_.kw * plan_.nr), channel)),
                    b_.ir().CreateSub(kh_end, kh_begin),
                    row,
                    image,
                    channel};
    if (!has_channel_remainder()) return emit_pixels(place, false);
    if (!has_whole_tiles()) return emit_pixels(place, true);
    b_.if_else(
        b_.ir().CreateICmpSLT(channel_tile, b_.index(s_.co / tile_channels())),
        [&] { emit_pixels(place, false); }, [&] { emit_pixels(place, true); });
  }

  void emit_pixels(const Row& row, bool channel_remainder) {
    const auto at_border = [&](int64_t begin, int64_t end) {
      b_.loop(b_.index(begin), b_.index(end), 1, [&](Value* ow) {
        Value* left = b_.ir().CreateNeg(b_.add(b_.mul(ow, s_.stride_w), b_.index(-s_.pad_left)));
        Value* kw_begin =
            b_.div(b_.add(positive(left), b_.index(s_.dilation_w - 1)), s_.dilation_w);
        Value* kw_end = b_.div(
            b_.add(positive(b_.add(left, b_.index(s_.w.nominal))), b_.index(s_.dilation_w - 1)),
            s_.dilation_w);
        call(border_[channel_remainder], row, ow, kw_begin, b_.min(kw_end, b_.index(s_.kw)));
      });
    };
    at_border(0, first_inner_);
    Value* all = b_.index(s_.kw);
    const int64_t whole = first_inner_ + inner() / plan_.pixels * plan_.pixels;
    b_.loop(b_.index(first_inner_), b_.index(whole), plan_.pixels,
            [&](Value* ow) { call(inner_[channel_remainder], row, ow, b_.index(0), all); });
    if (whole < last_inner_)
      call(inner_remainder_[channel_remainder], row, b_.index(whole), b_.index(0), all);
    at_border(last_inner_, s_.ow.nominal);
  }

  void call(llvm::Function* tile, const Row& row, Value* ow, Value* kw_begin, Value* kw_end) {
    Value* column = b_.add(b_.mul(ow, s_.stride_w), b_.index(-s_.pad_left));
    Value* pixel = b_.add(b_.mul(row.number, s_.ow.nominal), ow);
    Value* in_image = b_.add(b_.mul(b_.mod(row.number, s_.oh.nominal), s_.ow.nominal), ow);
    const auto at_channel = [&](Value* array) {
      return array == nullptr ? p_.sums : b_.at(array, row.channel);
    };
    IrValues arguments(kOperands, nullptr);
    arguments[kX] = ints_.bytes_at(row.x, b_.mul(column, s_.ci));
    arguments[kW] = row.weights;
    arguments[kY] =
        ints_.bytes_at(p_.y, b_.mul(b_.add(b_.mul(pixel, s_.co), row.channel), y_bytes()));
    arguments[kRows] = row.kernel_rows, arguments[kFirst] = kw_begin, arguments[kLast] = kw_end;
    arguments[kXZero] = p_.x_zero, arguments[kWZero] = at_channel(p_.w_zero),
    arguments[kBias] = at_channel(p_.bias);
    for (size_t n = 0; n < p_.operands.size(); ++n) {
      const EpilogueOperand& operand = s_.epilogue.operands[n];
      Value* offset = operand.batch_strides.empty()
                          ? b_.mul(pixel, operand.row_stride.nominal)
                          : b_.add(b_.mul(row.image, operand.batch_strides[0].nominal),
                                   b_.mul(in_image, operand.row_stride.nominal));
      arguments.push_back(b_.at(
          p_.operands[n], b_.add(offset, b_.mul(row.channel, operand.column_stride.nominal))));
    }
    b_.ir().CreateCall(tile, arguments);
  }

  const Int8DepthwiseSpec& spec_;
  const ConvSpec& s_;
  KernelBuilder b_;
  Int8Emitter ints_;
  Int8DepthwisePlan plan_;
  int64_t channel_tiles_;
  int64_t first_inner_ = 0, last_inner_ = 0;
  llvm::Function *inner_[2] = {}, *inner_remainder_[2] = {}, *border_[2] = {};
  Int8Pointers p_{};
  Value* x_zero_ = nullptr;  // of the tile being emitted
  IrValues w_zero_;
};

}  // namespace

Int8DepthwisePlan choose_int8_depthwise_plan(const ConvSpec& conv, const DeviceProfile& profile) {
  ConvSpec nominal = conv;
  nominal.n = conv.n.nominal;
  const DepthwisePlan like = choose_depthwise_plan(nominal, profile);
  Int8DepthwisePlan plan{like.possible, like.lanes,  like.vectors, like.pixels,
                         like.nr,       like.blocks, like.cycles};
  // Registers are needed for both zero points and for what is widened, too.
  const int pixels = max_rows(plan.lanes, plan.vectors, {1, profile.vector_registers / 4}, profile);
  plan.possible = plan.possible && is_fixed(nominal);
  plan.pixels = std::min(plan.pixels, pixels);
  return plan;
}

Result<GeneratedKernel> generate_int8_depthwise(const Int8DepthwiseSpec& spec,
                                                const DeviceProfile& profile) {
  SLUICE_TRY(check_conv(spec.conv));
  SLUICE_TRY(check_int8_numbers(spec.numbers, spec.conv.epilogue));
  if (!choose_int8_depthwise_plan(spec.conv, profile).possible)
    return make_error(ErrorCode::kNotLowerable,
                      "not a depthwise convolution that can be written out");
  return Int8DepthwiseEmitter(spec, profile).emit(kernel_entry(canonical_text(spec), profile));
}

std::string canonical_text(const Int8DepthwiseSpec& spec) {
  return fmt::format("int8 depthwise {} {}", canonical_text(spec.numbers),
                     canonical_text(spec.conv));
}

}  // namespace sluice
