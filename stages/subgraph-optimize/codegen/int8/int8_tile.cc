#include "stages/subgraph-optimize/codegen/int8/int8_tile.h"

#include <algorithm>

#include "stages/subgraph-optimize/codegen/emit/epilogue_emitter.h"

namespace sluice {
namespace {

using llvm::Value;

// Emits the tile function:
//
//   acc[splits][rows][vectors] = 0
//   for step, unroll_ of them written out per iteration:
//     w[j] = the panel's vectors at this step
//     for row i: a = x[i][step], `unit` elements in every lane
//       for vector j: acc[step % splits][i][j] += dot(a, w[j])
//   for vector j:
//     for row i (written out where the epilogue is short, otherwise a loop, the sums on the stack):
//       y[i][j] = result(sum of acc[s][i][j] over s + bias[j] - x zero * sums[j]
//                        - row sums[i] * w zero[j] + y[i][j] where sums continue)
//
// An operand that is less its zero points has no such term.
class Int8TileEmitter {
 public:
  Int8TileEmitter(KernelBuilder& builder, const TileShape& shape, const Int8Reduction& reduction,
                  const Int8Numbers& numbers, const TileOutput& output)
      : b_(builder),
        ints_(builder),
        shape_(shape),
        reduction_(reduction),
        numbers_(numbers),
        output_(output) {
    const int sums = shape.rows * shape.vectors;
    // Small tiles keep several sums per element, which are added up at the end.
    const bool is_long = reduction.steps == 0;
    while (splits_ * sums < 8 && (is_long || splits_ * 2 <= reduction.steps)) splits_ *= 2;
    unroll_ = std::max<int64_t>(splits_, sums >= 20 ? 2 : sums >= 8 ? 4 : 8);
  }

  llvm::Function* emit() {
    std::vector<llvm::Type*> parameters(kOperands + output_.operand_rows.size(), b_.pointer_type());
    parameters[kRow] = b_.index_type();
    parameters[kXZero] = parameters[kContinues] = b_.ir().getInt32Ty();
    parameters[kSteps] = parameters[kActive] = b_.index_type();
    function_ = b_.begin_function("tile", parameters);
    b_.set_symbols(argument(kSymbols));
    if (shape_.active == 0) mask_ = b_.mask(argument(kActive), shape_.lanes);
    finish(reduce());
    b_.ret_void();
    return function_;
  }

 private:
  Value* argument(unsigned number) { return function_->getArg(number); }
  int active(int vector) const {
    return vector == shape_.vectors - 1 ? shape_.active : shape_.lanes;
  }
  // Returns the mask for operands and results of a vector, null where active lanes are constant.
  Value* mask(int vector) const { return active(vector) == 0 ? mask_ : nullptr; }
  bool has_x_zero() const { return reduction_.unit == 4; }
  bool has_w_zero() const { return numbers_.has_w_zero && !reduction_.is_centered; }
  size_t sum_index(int64_t split, int row, int vector) const {
    return (static_cast<size_t>(split) * shape_.rows + row) * shape_.vectors + vector;
  }
  size_t product_sums() const {
    return static_cast<size_t>(splits_) * shape_.rows * shape_.vectors;
  }

  // Returns the panel's bytes of one vector at one step.
  Value* load_weights(Value* w, int vector) {
    const int64_t column = int64_t{vector} * shape_.lanes;
    if (reduction_.is_centered)
      return as_pairs(ints_.load_ints(b_.at(w, column), shape_.lanes, shape_.lanes));
    Value* pointer = ints_.bytes_at(w, column * reduction_.unit);
    if (reduction_.unit == 4) return ints_.load_ints(pointer, shape_.lanes, shape_.lanes);
    return ints_.widened(ints_.load_bytes(pointer, 2 * shape_.lanes, 2 * shape_.lanes), 16, true);
  }

  // Returns four bytes, or two numbers of 16 bits, in every lane.
  Value* load_x(Value* pointer) {
    Value* all = b_.broadcast(
        b_.ir().CreateAlignedLoad(b_.ir().getInt32Ty(), pointer, llvm::Align(1)), shape_.lanes);
    return reduction_.unit == 4 ? all : as_pairs(all);
  }

  Value* as_pairs(Value* vector) {
    return b_.ir().CreateBitCast(
        vector, llvm::FixedVectorType::get(b_.ir().getInt16Ty(), 2 * shape_.lanes));
  }

  Value* add_products(Value* sum, Value* x, Value* w) {
    return reduction_.unit == 4 ? ints_.add_products_of_fours(sum, x, w)
                                : ints_.add_products_of_pairs(sum, x, w);
  }

  void step(int64_t u, Value* x, Value* w, IrValues& sums) {
    IrValues columns;
    for (int j = 0; j < shape_.vectors; ++j) columns.push_back(load_weights(w, j));
    for (int i = 0; i < shape_.rows; ++i) {
      Value* row = load_x(ints_.bytes_at(x, i * reduction_.row_stride));
      for (int j = 0; j < shape_.vectors; ++j) {
        Value*& sum = sums[sum_index(u % splits_, i, j)];
        sum = add_products(sum, row, columns[j]);
      }
    }
    b_.keep_memory_order();
  }

  // Returns the sums [row][vector].
  IrValues reduce() {
    IrValues carried(product_sums(), ints_.ints(0, shape_.lanes));
    carried.push_back(argument(kX));
    carried.push_back(argument(kW));
    const int64_t w_stride = reduction_.nr * (reduction_.is_centered ? 4 : reduction_.unit);
    const auto steps = [&](IrValues values, int64_t steps_here) {
      Value* w = values.back();
      values.pop_back();
      Value* x = values.back();
      values.pop_back();
      for (int64_t u = 0; u < steps_here; ++u)
        step(u, ints_.bytes_at(x, 4 * u), ints_.bytes_at(w, u * w_stride), values);
      values.push_back(ints_.bytes_at(x, 4 * steps_here));
      values.push_back(ints_.bytes_at(w, w_stride * steps_here));
      return values;
    };
    if (reduction_.steps > 0) {
      const int64_t whole = reduction_.steps / unroll_ * unroll_;
      carried = b_.loop(b_.index(0), b_.index(whole), unroll_, carried,
                        [&](Value*, const IrValues& values) { return steps(values, unroll_); });
      carried = steps(carried, reduction_.steps - whole);
    } else {
      Value* whole = b_.mul(b_.div(argument(kSteps), unroll_), unroll_);
      carried = b_.loop(b_.index(0), whole, unroll_, carried,
                        [&](Value*, const IrValues& values) { return steps(values, unroll_); });
      carried = b_.loop(whole, argument(kSteps), 1, carried,
                        [&](Value*, const IrValues& values) { return steps(values, 1); });
    }
    carried.resize(product_sums());
    return add_splits(carried);
  }

  IrValues add_splits(const IrValues& sums) {
    IrValues results(sums.begin(), sums.begin() + shape_.rows * shape_.vectors);
    for (size_t n = results.size(); n < product_sums(); ++n)
      results[n % results.size()] = b_.ir().CreateAdd(results[n % results.size()], sums[n]);
    return results;
  }

  Value* load_column(Int8Argument array, int vector) {
    const int exist = active(vector) == 0 ? shape_.lanes : active(vector);
    return ints_.load_ints(b_.at(argument(array), int64_t{vector} * shape_.lanes), shape_.lanes,
                           exist);
  }

  // Returns bias - x zero * sums, which is the same for all rows.
  Value* column_base(int vector) {
    if (!has_x_zero())
      return numbers_.has_bias ? load_column(kBias, vector) : ints_.ints(0, shape_.lanes);
    Value* x_zero = b_.broadcast(argument(kXZero), shape_.lanes);
    Value* base = b_.ir().CreateNeg(b_.ir().CreateMul(x_zero, load_column(kSums, vector)));
    return numbers_.has_bias ? b_.ir().CreateAdd(base, load_column(kBias, vector)) : base;
  }

  Value* load_operand(int operand, Value* row, int vector) {
    const int64_t column_stride = output_.epilogue->operands[operand].column_stride.factor;
    Value* offset = b_.mul(b_.add(argument(kRow), row), output_.operand_rows[operand].row_stride);
    Value* address = b_.at(b_.at(argument(kOperands + static_cast<unsigned>(operand)), offset),
                           vector * shape_.lanes * column_stride);
    if (column_stride == 0) return b_.broadcast(b_.load_float(address), shape_.lanes);
    if (mask(vector) != nullptr) return b_.load_masked(address, shape_.lanes, mask(vector));
    return b_.load_vector(address, shape_.lanes, active(vector));
  }

  // The values that all rows of a vector of columns share.
  struct Column {
    Value* base = nullptr;
    Value* w_zero = nullptr;
    IrValues operands;  // null where it differs from row to row
  };

  Column load_shared(int vector) {
    Column column;
    column.base = column_base(vector);
    if (has_w_zero()) column.w_zero = load_column(kWZero, vector);
    for (size_t n = 0; n < output_.operand_rows.size(); ++n) {
      const bool is_shared = output_.operand_rows[n].row_stride.is_fixed_at(0);
      column.operands.push_back(is_shared ? load_operand(static_cast<int>(n), b_.index(0), vector)
                                          : nullptr);
    }
    return column;
  }

  Value* row_sum(Value* row) {
    Value* sum = b_.ir().CreateAlignedLoad(b_.ir().getInt32Ty(), b_.at(argument(kRowSums), row),
                                           llvm::Align(4));
    return b_.broadcast(sum, shape_.lanes);
  }

  void finish_vector(Value* sum, Value* row, int vector, const Column& column) {
    sum = b_.ir().CreateAdd(sum, column.base);
    if (has_w_zero()) sum = b_.ir().CreateSub(sum, b_.ir().CreateMul(row_sum(row), column.w_zero));
    const int64_t bytes = int8_stored_bytes(*output_.epilogue);
    Value* y = ints_.bytes_at(
        ints_.bytes_at(argument(kY), b_.mul(b_.mul(row, output_.rows.row_stride), bytes)),
        vector * shape_.lanes * bytes);
    if (reduction_.continues) sum = b_.ir().CreateAdd(sum, earlier_sums(y, vector));
    ints_.finish(
        sum, *output_.epilogue,
        [&](int operand) {
          return column.operands[operand] ? column.operands[operand]
                                          : load_operand(operand, row, vector);
        },
        y, active(vector), mask(vector));
  }

  // Returns what y has where sums continue, otherwise 0.
  Value* earlier_sums(Value* y, int vector) {
    Value* sums = mask(vector) != nullptr ? b_.load_masked(y, shape_.lanes, mask(vector))
                                          : b_.load_vector(y, shape_.lanes, active(vector));
    return b_.ir().CreateAnd(b_.ir().CreateBitCast(sums, ints_.int_vector(shape_.lanes)),
                             b_.broadcast(argument(kContinues), shape_.lanes));
  }

  void finish(const IrValues& results) {
    const bool is_short = output_.epilogue->is_empty() || shape_.rows * shape_.vectors <= 8;
    if (!is_short) return finish_in_loop(results);
    for (int j = 0; j < shape_.vectors; ++j) {
      const Column column = load_shared(j);
      for (int i = 0; i < shape_.rows; ++i)
        finish_vector(results[sum_index(0, i, j)], b_.index(i), j, column);
    }
  }

  // Stores through the stack, so that the code is as long as one row's.
  void finish_in_loop(const IrValues& results) {
    Value* buffer = b_.stack(b_.vector_type(shape_.lanes), static_cast<int64_t>(results.size()));
    for (size_t n = 0; n < results.size(); ++n) {
      b_.store_vector(b_.ir().CreateBitCast(results[n], b_.vector_type(shape_.lanes)),
                      b_.at(buffer, static_cast<int64_t>(n) * shape_.lanes), shape_.lanes);
    }
    for (int j = 0; j < shape_.vectors; ++j) {
      const Column column = load_shared(j);
      b_.loop(b_.index(0), b_.index(shape_.rows), 1, [&](Value* row) {
        Value* number = b_.add(b_.mul(row, shape_.vectors), b_.index(j));
        Value* saved = ints_.load_ints(b_.at(buffer, b_.mul(number, shape_.lanes)), shape_.lanes,
                                       shape_.lanes);
        finish_vector(saved, row, j, column);
      });
    }
  }

  KernelBuilder& b_;
  Int8Emitter ints_;
  const TileShape& shape_;
  const Int8Reduction& reduction_;
  const Int8Numbers& numbers_;
  const TileOutput& output_;
  llvm::Function* function_ = nullptr;
  Value* mask_ = nullptr;  // of the last vector
  int64_t splits_ = 1;
  int64_t unroll_ = 4;
};

}  // namespace

IrValues neutral_int8_arguments(KernelBuilder& b) {
  auto* none = llvm::Constant::getNullValue(b.pointer_type());
  IrValues values(kOperands, none);
  values[kRow] = values[kSteps] = values[kActive] = b.index(0);
  values[kXZero] = values[kContinues] = b.ir().getInt32(0);
  return values;
}

llvm::Function* emit_int8_tile(KernelBuilder& builder, const TileShape& shape,
                               const Int8Reduction& reduction, const Int8Numbers& numbers,
                               const TileOutput& output) {
  return Int8TileEmitter(builder, shape, reduction, numbers, output).emit();
}

}  // namespace sluice
