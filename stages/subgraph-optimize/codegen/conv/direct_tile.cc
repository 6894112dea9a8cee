#include "stages/subgraph-optimize/codegen/conv/direct_tile.h"

#include <algorithm>

#include "stages/subgraph-optimize/codegen/emit/elements.h"
#include "stages/subgraph-optimize/codegen/emit/epilogue_emitter.h"

namespace sluice {
namespace {

using llvm::Value;

// Emits the function of a tile:
//
//   acc[splits][rows][vectors] = 0
//   for plane (ci, kd, kw), `unroll` of them written out per iteration:
//     for kh (written out):
//       acc[s][i][j] += w[group][channel tile][plane][kh][i] * planes[plane][offset(kh) + j]
//   y[channel + i][pixel + j] = epilogue(sum of acc[s][i][j] over s)
//
// Its parameters are planes, weights, y and the operands; of a symbolic one also the symbols, the
// layout of the planes and the active lanes.
class TileEmitter {
 public:
  TileEmitter(KernelBuilder& builder, const ConvSpec& spec, const DirectConvPlan& plan,
              const DirectGeometry& geometry, const DirectOutput& output, const DirectTile& tile)
      : b_(builder),
        s_(spec),
        plan_(plan),
        geometry_(geometry),
        output_(output),
        tile_(tile),
        in_memory_(builder, spec.dtype),
        stored_(builder, output.epilogue->stored(DType::kF32)) {}

  llvm::Function* emit() {
    begin();
    const size_t count = static_cast<size_t>(tile_.rows) * tile_.vectors;
    const int64_t planes = s_.ci / s_.groups * s_.depth.kernel * s_.kw;
    int64_t unroll = std::min<int64_t>(planes, s_.kh >= 3 ? 1 : 4 / s_.kh);
    if (geometry_.shares_planes(s_)) unroll = s_.kw;  // addresses are regular from slice to slice
    // A multiply-add has a latency of 4 cycles, so small tiles keep several sums per element.
    size_t splits = 1;
    while (splits * count < 8 && static_cast<int64_t>(splits) * 2 <= unroll * s_.kh) splits *= 2;
    IrValues carried(splits * count, b_.splat(0.0f, tile_.lanes));
    carried.insert(carried.end(), {function_->getArg(0), function_->getArg(1)});
    const auto steps = [&](IrValues values, int64_t plane_count) {
      return add_planes(std::move(values), plane_count, splits);
    };
    const int64_t whole = planes / unroll * unroll;
    carried = b_.loop(b_.index(0), b_.index(whole), unroll, carried,
                      [&](Value*, const IrValues& values) { return steps(values, unroll); });
    carried = steps(carried, planes - whole);
    carried.resize(splits * count);
    for (; splits > 1; splits /= 2) {
      for (size_t n = 0; n < splits / 2 * count; ++n)
        carried[n] = b_.ir().CreateFAdd(carried[n], carried[n + splits / 2 * count]);
    }
    carried.resize(count);
    finish(carried);
    b_.ret_void();
    return function_;
  }

 private:
  void begin() {
    std::vector<llvm::Type*> parameters(3 + output_.epilogue->operands.size(), b_.pointer_type());
    const auto own = static_cast<unsigned>(parameters.size());
    if (!is_fixed(s_)) {
      parameters.push_back(b_.pointer_type());
      parameters.insert(parameters.end(), 4, b_.index_type());
    }
    function_ = b_.begin_function("tile", parameters);
    if (is_fixed(s_)) {
      layout_ = fixed_layout(b_, s_, geometry_);
      return;
    }
    b_.set_symbols(function_->getArg(own));
    layout_ = {plan_.piece_columns > 0 ? function_->getArg(own + 1) : b_.value(s_.ow),
               function_->getArg(own + 2), function_->getArg(own + 3)};
    if (tile_.active == 0) mask_ = b_.mask(function_->getArg(own + 4), tile_.lanes);
  }

  // Adds the products of so many planes. The values are the sums, the first plane's address and
  // that of its weights.
  IrValues add_planes(IrValues values, int64_t count, size_t splits) {
    Value* weights = values.back();
    values.pop_back();
    Value* x = values.back();
    values.pop_back();
    const size_t sums = values.size() / splits;
    for (int64_t u = 0; u < count * s_.kh; ++u) {
      add_step(row_address(x, u / s_.kh, u % s_.kh), b_.at(weights, u * plan_.rows), values,
               static_cast<size_t>(u) % splits * sums);
    }
    values.push_back(b_.at(x, plane_offset(count)));
    values.push_back(b_.at(weights, count * s_.kh * plan_.rows));
    return values;
  }

  // Returns the floats from one kernel column to the one `count` columns after it.
  Value* plane_offset(int64_t count) {
    if (!geometry_.shares_planes(s_)) return b_.mul(layout_.plane, count);
    return b_.add(b_.mul(layout_.plane, count / s_.kw), b_.index(count % s_.kw));
  }

  // Returns the address of kernel row kh under the kernel column `column` columns after x.
  Value* row_address(Value* x, int64_t column, int64_t kh) {
    Value* rows = b_.mul(layout_.columns, kh * s_.dilation_h / s_.stride_h);
    Value* row = b_.add(b_.mul(layout_.phase, geometry_.slot(s_, kh)), rows);
    return b_.at(x, b_.add(plane_offset(column), row));
  }

  int active(int vector) const { return vector == tile_.vectors - 1 ? tile_.active : tile_.lanes; }

  Value* load_pixels(Elements& from, Value* address, int vector) {
    if (active(vector) == 0) return from.load_masked(address, tile_.lanes, mask_);
    return from.load_vector(address, tile_.lanes, active(vector));
  }

  void add_step(Value* x, Value* weights, IrValues& sums, size_t first) {
    IrValues pixels;
    for (int j = 0; j < tile_.vectors; ++j) {
      // Planes in scratch may be read past the pixels; x may not.
      Value* address = b_.at(x, j * tile_.lanes);
      pixels.push_back(geometry_.in_place ? load_pixels(in_memory_, address, j)
                                          : b_.load_vector(address, tile_.lanes, tile_.lanes));
    }
    for (int i = 0; i < tile_.rows; ++i) {
      Value* weight = b_.broadcast(b_.load_float(b_.at(weights, i)), tile_.lanes);
      for (int j = 0; j < tile_.vectors; ++j) {
        Value*& sum = sums[first + static_cast<size_t>(i) * tile_.vectors + j];
        sum = b_.multiply_add(weight, pixels[j], sum);
      }
    }
    b_.keep_memory_order();
  }

  void finish(const IrValues& sums) {
    if (!is_long(*output_.epilogue, tile_.rows * tile_.vectors)) {
      for (int i = 0; i < tile_.rows; ++i) {
        for (int j = 0; j < tile_.vectors; ++j)
          finish_vector(sums[static_cast<size_t>(i) * tile_.vectors + j], b_.index(i), j);
      }
      return;
    }
    Value* buffer = b_.stack(b_.vector_type(tile_.lanes), static_cast<int64_t>(sums.size()));
    for (size_t n = 0; n < sums.size(); ++n)
      b_.store_vector(sums[n], b_.at(buffer, static_cast<int64_t>(n) * tile_.lanes), tile_.lanes);
    b_.loop(b_.index(0), b_.index(tile_.rows), 1, [&](Value* row) {
      for (int j = 0; j < tile_.vectors; ++j) {
        Value* at = b_.at(
            buffer, b_.add(b_.mul(row, tile_.vectors * tile_.lanes), b_.index(j * tile_.lanes)));
        finish_vector(b_.load_vector(at, tile_.lanes, tile_.lanes), row, j);
      }
    });
  }

  void finish_vector(Value* sum, Value* row, int j) {
    Value* result = emit_epilogue(b_, *output_.epilogue, sum, [&](int n) {
      return load_operand(static_cast<size_t>(n), row, j);
    });
    Value* address = stored_.at(function_->getArg(2),
                                b_.add(b_.mul(row, output_.row_stride), b_.index(j * tile_.lanes)));
    if (active(j) == 0) {
      stored_.store_masked(result, address, mask_);
    } else {
      stored_.store_vector(result, address, active(j));
    }
  }

  Value* load_operand(size_t n, Value* row, int j) {
    const EpilogueOperand& operand = output_.epilogue->operands[n];
    Elements elements(b_, output_.epilogue->operand_dtype(n));
    Value* address = elements.at(function_->getArg(3 + static_cast<unsigned>(n)),
                                 b_.add(b_.mul(row, operand.row_stride),
                                        b_.index(j * tile_.lanes * operand.column_stride.factor)));
    return operand.column_stride.is_fixed_at(0) ? b_.broadcast(elements.load(address), tile_.lanes)
                                                : load_pixels(elements, address, j);
  }

  KernelBuilder& b_;
  const ConvSpec& s_;
  const DirectConvPlan& plan_;
  const DirectGeometry& geometry_;
  const DirectOutput& output_;
  const DirectTile& tile_;
  Elements in_memory_, stored_;  // x and y
  llvm::Function* function_ = nullptr;
  PlaneLayout layout_;
  Value* mask_ = nullptr;  // of the last vector, where it is known only when the kernel runs
};

}  // namespace

PlaneLayout fixed_layout(KernelBuilder& b, const ConvSpec& s, const DirectGeometry& geometry) {
  const int64_t columns = geometry.columns(s);
  return {b.index(columns), b.index(geometry.plane_rows() * columns),
          b.index(geometry.plane_stride(s))};
}

DirectTiles::DirectTiles(KernelBuilder& builder, const ConvSpec& spec, const DirectConvPlan& plan,
                         const DirectGeometry& geometry, const DirectOutput& output,
                         const std::vector<DirectTile>& tiles)
    : b_(builder), is_symbolic_(!is_fixed(spec)) {
  for (const DirectTile& tile : tiles)
    functions_.emplace_back(tile, TileEmitter(builder, spec, plan, geometry, output, tile).emit());
}

void DirectTiles::call(const DirectTile& tile, const DirectTileCall& call) {
  IrValues arguments = {call.planes, call.weights, call.y};
  arguments.insert(arguments.end(), call.operands.begin(), call.operands.end());
  if (is_symbolic_)
    arguments.insert(arguments.end(), {b_.symbols(), call.layout.columns, call.layout.phase,
                                       call.layout.plane, call.active});
  const auto found = std::find_if(functions_.begin(), functions_.end(),
                                  [&](const auto& known) { return known.first == tile; });
  b_.ir().CreateCall(found->second, arguments);
}

}  // namespace sluice
