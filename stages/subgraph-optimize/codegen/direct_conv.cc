// Direct convolution on dense tensors: output channels x output pixels in registers, weights broadcast, the input read from planes
// (direct_geometry.h).
#include "stages/subgraph-optimize/codegen/conv_kinds.h"
#include "stages/subgraph-optimize/codegen/direct_planes.h"
#include "stages/subgraph-optimize/codegen/epilogue_emitter.h"
#include "stages/subgraph-optimize/codegen/object_emitter.h"

namespace sluice {
namespace {

using llvm::Value;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct Tile {
  int rows = 1;
  int vectors = 1;
  int active = 1;  // lanes of the last vector
};

class DirectEmitter {
 public:
  DirectEmitter(const ConvSpec& spec, const DeviceProfile& profile, const DirectConvPlan& plan)
      : s_(spec), b_(profile), plan_(plan), geometry_(spec, plan.chunk_rows), channels_(spec.co / spec.groups) {}

  Result<GeneratedKernel> emit(const std::string& entry) {
    const int64_t last_rows = s_.oh.nominal - (plan_.chunks - 1) * plan_.chunk_rows;
    const int64_t whole = plan_.chunk_rows * s_.ow.nominal, last = last_rows * s_.ow.nominal;
    emit_tiles(whole, 0);
    if (last != whole) emit_tiles(last, 1);
    if (!geometry_.in_place) copy_ = emit_plane_copy(b_, s_, geometry_);
    b_.begin_kernel(entry);
    y_ = b_.pointer_argument(0);
    x_ = b_.pointer_argument(1);
    weights_ = b_.pointer_argument(2);
    for (size_t n = 0; n < s_.epilogue.operands.size(); ++n) operands_.push_back(b_.pointer_argument(static_cast<int>(3 + n)));
    const auto range = b_.partition(s_.n.nominal * s_.groups * plan_.chunks, b_.block(), plan_.blocks);
    b_.loop(range.first, range.second, 1, [&](Value* item) {
      Value* chunk = b_.mod(item, plan_.chunks);
      const Chunk place{b_.div(item, plan_.chunks * s_.groups), b_.mod(b_.div(item, plan_.chunks), s_.groups),
                        b_.mul(chunk, plan_.chunk_rows)};
      if (last == whole) return emit_chunk(place, plan_.chunk_rows, 0);
      b_.if_else(
          b_.ir().CreateICmpSLT(chunk, b_.index(plan_.chunks - 1)), [&] { emit_chunk(place, plan_.chunk_rows, 0); },
          [&] { emit_chunk(place, last_rows, 1); });
    });
    b_.ret_void();
    SLUICE_ASSIGN(GeneratedKernel kernel, b_.finish(entry));
    kernel.blocks = plan_.blocks;
    kernel.scratch_bytes = plan_.scratch_bytes;
    kernel.multiply_adds = s_.n.nominal * s_.oh.nominal * s_.ow.nominal * s_.co * reduction();
    return kernel;
  }

 private:
  struct Chunk {
    Value *image, *group, *first_row;
  };

  int64_t planes() const { return s_.ci / s_.groups * s_.kw; }
  int64_t reduction() const { return planes() * s_.kh; }
  int64_t tile_pixels() const { return int64_t{plan_.lanes} * plan_.vectors; }

  // The functions for chunks of so many output pixels; tiles_[kind of chunk][channel tail][pixel tail].
  void emit_tiles(int64_t positions, int kind) {
    const int row_tail = static_cast<int>(channels_ % plan_.rows);
    const int rest = static_cast<int>(positions % tile_pixels());
    for (const int rows : {plan_.rows, row_tail}) {
      if (rows == 0 || (rows == plan_.rows && channels_ < rows)) continue;
      const bool is_tail = rows == row_tail;
      if (positions >= tile_pixels()) tiles_[kind][is_tail][0] = emit_tile({rows, plan_.vectors, plan_.lanes});
      if (rest == 0) continue;
      const int vectors = static_cast<int>(ceil_div(rest, plan_.lanes));
      tiles_[kind][is_tail][1] = emit_tile({rows, vectors, rest - (vectors - 1) * plan_.lanes});
    }
  }

  // void(planes, weights, y, operands...), all at the tile.
  llvm::Function* emit_tile(const Tile& tile) {
    llvm::Function* function = b_.begin_function("tile", std::vector<llvm::Type*>(3 + s_.epilogue.operands.size(), b_.pointer_type()));
    const size_t count = static_cast<size_t>(tile.rows) * tile.vectors;
    const int64_t unroll = std::min<int64_t>(planes(), s_.kh >= 3 ? 1 : 4 / s_.kh);
    // A multiply-add answers after 4 cycles: small tiles keep several sums per element.
    size_t splits = 1;
    while (splits * count < 8 && static_cast<int64_t>(splits) * 2 <= unroll * s_.kh) splits *= 2;
    IrValues carried(splits * count, b_.splat(0.0f, plan_.lanes));
    carried.push_back(function->getArg(0));
    carried.push_back(function->getArg(1));
    const auto steps = [&](IrValues values, int64_t plane_count) {
      Value* weights = values.back();
      values.pop_back();
      Value* x = values.back();
      values.pop_back();
      for (int64_t u = 0; u < plane_count * s_.kh; ++u) {
        Value* at = b_.at(x, u / s_.kh * geometry_.plane_stride(s_) + geometry_.offset(s_, u % s_.kh));
        step(tile, at, b_.at(weights, u * plan_.rows), values, static_cast<size_t>(u) % splits * count);
      }
      values.push_back(b_.at(x, plane_count * geometry_.plane_stride(s_)));
      values.push_back(b_.at(weights, plane_count * s_.kh * plan_.rows));
      return values;
    };
    const int64_t whole = planes() / unroll * unroll;
    carried = b_.loop(b_.index(0), b_.index(whole), unroll, carried, [&](Value*, const IrValues& values) { return steps(values, unroll); });
    carried = steps(carried, planes() - whole);
    carried.resize(splits * count);
    for (; splits > 1; splits /= 2) {
      for (size_t n = 0; n < splits / 2 * count; ++n) carried[n] = b_.ir().CreateFAdd(carried[n], carried[n + splits / 2 * count]);
    }
    carried.resize(count);
    finish(tile, *function, carried);
    b_.ret_void();
    return function;
  }

  int active(const Tile& tile, int vector) const { return vector == tile.vectors - 1 ? tile.active : plan_.lanes; }

  void step(const Tile& tile, Value* x, Value* weights, IrValues& sums, size_t first) {
    IrValues pixels;
    for (int j = 0; j < tile.vectors; ++j) {
      // Scratch may be read past the pixels, x may not.
      const int read = geometry_.in_place ? active(tile, j) : plan_.lanes;
      pixels.push_back(b_.load_vector(b_.at(x, j * plan_.lanes), plan_.lanes, read));
    }
    for (int i = 0; i < tile.rows; ++i) {
      Value* weight = b_.broadcast(b_.load_float(b_.at(weights, i)), plan_.lanes);
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
          finish_vector(tile, function, sums[static_cast<size_t>(i) * tile.vectors + j], b_.index(i), j);
        }
      }
      return;
    }
    Value* buffer = b_.stack(b_.vector_type(plan_.lanes), static_cast<int64_t>(sums.size()));
    for (size_t n = 0; n < sums.size(); ++n) b_.store_vector(sums[n], b_.at(buffer, static_cast<int64_t>(n) * plan_.lanes), plan_.lanes);
    b_.loop(b_.index(0), b_.index(tile.rows), 1, [&](Value* row) {
      for (int j = 0; j < tile.vectors; ++j) {
        Value* at = b_.at(buffer, b_.add(b_.mul(row, tile.vectors * plan_.lanes), b_.index(j * plan_.lanes)));
        finish_vector(tile, function, b_.load_vector(at, plan_.lanes, plan_.lanes), row, j);
      }
    });
  }

  void finish_vector(const Tile& tile, llvm::Function& function, Value* sum, Value* row, int j) {
    Value* result = emit_epilogue(b_, s_.epilogue, sum, [&](int n) {
      const EpilogueOperand& operand = s_.epilogue.operands[n];
      Value* address = b_.at(function.getArg(3 + static_cast<unsigned>(n)),
                             b_.add(b_.mul(row, operand.row_stride.nominal), b_.index(j * plan_.lanes * operand.column_stride.nominal)));
      if (operand.column_stride.nominal == 0) return b_.broadcast(b_.load_float(address), plan_.lanes);
      return b_.load_vector(address, plan_.lanes, active(tile, j));
    });
    b_.store_vector(result, b_.at(function.getArg(2), b_.add(b_.mul(row, s_.oh.nominal * s_.ow.nominal), b_.index(j * plan_.lanes))),
                    active(tile, j));
  }

  void emit_chunk(const Chunk& chunk, int64_t rows, int kind) {
    Value* channel = b_.add(b_.mul(chunk.image, s_.ci), b_.mul(chunk.group, s_.ci / s_.groups));
    Value* x = b_.at(x_, b_.mul(channel, s_.h.nominal * s_.w.nominal));
    Value* first = b_.mul(chunk.first_row, s_.ow.nominal);
    Value* source = geometry_.in_place ? b_.at(x, first) : b_.scratch();
    if (!geometry_.in_place) {
      Value* top = b_.add(b_.mul(chunk.first_row, s_.stride_h), b_.index(-s_.pad_top));
      b_.loop(b_.index(0), b_.index(s_.ci / s_.groups), 1, [&](Value* ci) {
        b_.ir().CreateCall(
            copy_, {b_.at(x, b_.mul(ci, s_.h.nominal * s_.w.nominal)), b_.at(source, b_.mul(ci, s_.kw * geometry_.plane_stride(s_))), top,
                    b_.index(rows + geometry_.most_shift)});
      });
    }
    const int64_t positions = rows * s_.ow.nominal, whole = positions / tile_pixels() * tile_pixels();
    b_.loop(b_.index(0), b_.index(whole), tile_pixels(), [&](Value* pixel) { emit_channels(chunk, source, first, pixel, kind, false); });
    if (whole < positions) emit_channels(chunk, source, first, b_.index(whole), kind, true);
  }

  // All output channels of the group over one tile of pixels.
  void emit_channels(const Chunk& chunk, Value* source, Value* first, Value* pixel, int kind, bool pixel_tail) {
    const int64_t whole = channels_ / plan_.rows;
    const auto call = [&](Value* tile, bool channel_tail) {
      Value* panel = b_.add(b_.mul(chunk.group, ceil_div(channels_, plan_.rows)), tile);
      Value* channel = b_.add(b_.mul(chunk.group, channels_), b_.mul(tile, plan_.rows));
      Value* column = b_.add(first, pixel);
      Value* y = b_.at(y_, b_.add(b_.mul(b_.add(b_.mul(chunk.image, s_.co), channel), s_.oh.nominal * s_.ow.nominal), column));
      IrValues arguments = {b_.at(source, pixel), b_.at(weights_, b_.mul(panel, reduction() * plan_.rows)), y};
      for (size_t n = 0; n < operands_.size(); ++n) {
        const EpilogueOperand& operand = s_.epilogue.operands[n];
        Value* offset = b_.add(b_.mul(channel, operand.row_stride.nominal), b_.mul(column, operand.column_stride.nominal));
        if (!operand.batch_strides.empty()) offset = b_.add(offset, b_.mul(chunk.image, operand.batch_strides[0].nominal));
        arguments.push_back(b_.at(operands_[n], offset));
      }
      b_.ir().CreateCall(tiles_[kind][channel_tail][pixel_tail], arguments);
    };
    b_.loop(b_.index(0), b_.index(whole), 1, [&](Value* tile) { call(tile, false); });
    if (channels_ % plan_.rows != 0) call(b_.index(whole), true);
  }

  const ConvSpec& s_;
  KernelBuilder b_;
  const DirectConvPlan& plan_;
  DirectGeometry geometry_;
  int64_t channels_;  // of a group's output
  llvm::Function* tiles_[2][2][2] = {};
  llvm::Function* copy_ = nullptr;
  Value *x_ = nullptr, *y_ = nullptr, *weights_ = nullptr;
  IrValues operands_;
};

}  // namespace

Result<GeneratedKernel> generate_direct_conv(const DirectConvSpec& spec, const DeviceProfile& profile) {
  SLUICE_TRY(check_conv(spec.conv));
  if (!is_fixed(spec.conv)) return make_error(ErrorCode::kNotLowerable, "direct conv of symbolic sizes");
  const DirectConvPlan plan = choose_direct_plan(spec.conv, profile);
  if (!plan.possible)
    return make_error(ErrorCode::kNotLowerable, "a direct convolution needs {} bytes of scratch or too much code", plan.scratch_bytes);
  return DirectEmitter(spec.conv, profile, plan).emit(kernel_entry(canonical_text(spec), profile));
}

}  // namespace sluice
