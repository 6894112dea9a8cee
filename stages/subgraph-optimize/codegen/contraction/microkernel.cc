#include "stages/subgraph-optimize/codegen/contraction/microkernel.h"

#include <algorithm>

#include "stages/subgraph-optimize/codegen/contraction/tile_function.h"
#include "stages/subgraph-optimize/codegen/emit/bf16_pairs.h"

namespace sluice {
namespace {

using llvm::Value;

// A fused multiply-add has a latency of 4 cycles and up to two start per cycle: fewer sums in
// flight leave the unit idle.
constexpr int kSumsInFlight = 8;

// Emits the tile function:
//
//   acc[splits][rows][vectors] = 0
//   by strides:  for k, unroll_ steps written out per iteration
//   by pointers: for segment s, for k likewise
//     b[j] = the vectors of B at step k
//     for row i: a = A(i, k) in every lane; for vector j: acc[k % splits][i][j] += a * b[j]
//   in pairs: k and k + 1 are one step, or where no instruction adds two products, two steps that
//     load the same pairs
//   for row i, vector j: C[i][j] = epilogue(sum of acc[s][i][j] over s)
class TileEmitter {
 public:
  TileEmitter(KernelBuilder& builder, const std::string& name, const TileShape& shape,
              const TileReduction& reduction, const TileOutput& output)
      : b_(builder),
        shape_(shape),
        reduction_(reduction),
        function_(builder, name, shape, output),
        a_(builder, reduction.a),
        columns_(builder, reduction.b),
        pairs_(builder),
        width_(reduction.in_pairs ? 2 : 1) {
    // Small tiles keep several sums per element, which are added up at the end.
    const bool is_long = !reduction.length.is_fixed();
    while (splits_ * shape.rows * shape.vectors < kSumsInFlight &&
           (is_long || splits_ * 2 * width_ <= reduction.length.factor))
      splits_ *= 2;
    unroll_ = std::max<int64_t>(splits_ * width_, shape.rows * shape.vectors >= 20  ? 2
                                                  : shape.rows * shape.vectors >= 8 ? 4
                                                                                    : 8);
  }

  llvm::Function* emit() {
    if (!reduction_.b_column_stride.is_fixed_at(1))
      gathered_ = b_.multiples(b_.value(reduction_.b_column_stride), shape_.lanes);
    IrValues sums(static_cast<size_t>(splits_) * shape_.rows * shape_.vectors,
                  b_.splat(0.0f, shape_.lanes));
    if (reduction_.by_pointers) {
      sums = reduce_by_pointers(sums);
    } else {
      sums = has_fixed_strides() && reduction_.length.is_fixed() ? reduce_by_strides(sums)
                                                                 : reduce_by_extents(sums);
    }
    return function_.finish(add_splits(sums));
  }

 private:
  size_t sum_index(int64_t split, int row, int vector) const {
    return (static_cast<size_t>(split) * shape_.rows + row) * shape_.vectors + vector;
  }
  // Returns a vector of B's columns at one step.
  Value* load_columns(Value* bp, int vector) {
    if (gathered_ != nullptr) {
      Value* from =
          columns_.at(bp, b_.mul(b_.index(vector * shape_.lanes), reduction_.b_column_stride));
      return columns_.gather(from, gathered_, function_.mask_of(vector));
    }
    Value* from = columns_.at(bp, vector * shape_.lanes);
    return reduction_.b_is_exact ? function_.load(columns_, from, vector)
                                 : columns_.load_vector(from, shape_.lanes, shape_.lanes);
  }
  bool has_fixed_strides() const {
    return reduction_.row_stride.is_fixed() && reduction_.k_stride.is_fixed() &&
           reduction_.b_stride.is_fixed();
  }

  // The operands of `count` reduction steps, more than one only in pairs: the address of row i's
  // element, and of B's row, at step k < count.
  struct Step {
    int64_t count = 1;
    std::function<Value*(int i, int k)> a;
    std::function<Value*(int k)> b;
  };

  // Returns row i's factor in every lane: of pairs the one of step k, or both for one instruction.
  Value* row_factor(const Step& step, int i, int k) {
    const bool is_one = step.count == 1 && !pairs_.has_dot_product();
    if (!reduction_.in_pairs || reduction_.a == DType::kF32 || is_one)
      return b_.broadcast(a_.load(step.a(i, k)), shape_.lanes);
    Value* pair = nullptr;
    if (step.count == 1) {
      pair = pairs_.join(a_.load(step.a(i, 0)), nullptr);
    } else if (reduction_.k_stride.is_fixed_at(1)) {
      pair = pairs_.load(step.a(i, 0));
    } else {
      pair = pairs_.join(a_.load(step.a(i, 0)), a_.load(step.a(i, 1)));
    }
    pair = b_.broadcast(pair, shape_.lanes);
    return pairs_.has_dot_product() ? pair : pairs_.widened(pair, k);
  }

  // Returns the factors of a vector of columns likewise.
  Value* column_factors(const Step& step, int vector, int k) {
    if (!reduction_.in_pairs) return load_columns(step.b(0), vector);
    if (!reduction_.b_is_exact) {
      Value* from = columns_.at(step.b(0), 2 * vector * shape_.lanes);
      Value* pairs = pairs_.load_vector(from, shape_.lanes);
      return pairs_.has_dot_product() ? pairs : pairs_.widened(pairs, k);
    }
    if (!pairs_.has_dot_product()) return load_columns(step.b(k), vector);
    return pairs_.join(load_columns(step.b(0), vector),
                       step.count == 1 ? nullptr : load_columns(step.b(1), vector));
  }

  Value* add_product(Value* row, Value* column, Value* sum) {
    return reduction_.in_pairs && pairs_.has_dot_product() ? pairs_.add_products(sum, row, column)
                                                           : b_.multiply_add(row, column, sum);
  }

  // Adds the steps u, …, u + step.count - 1 of an iteration.
  void add_step(int64_t u, const Step& step, IrValues& sums) {
    const int parts = pairs_.has_dot_product() ? 1 : static_cast<int>(step.count);
    for (int k = 0; k < parts; ++k) {
      IrValues columns;
      for (int j = 0; j < shape_.vectors; ++j) columns.push_back(column_factors(step, j, k));
      for (int i = 0; i < shape_.rows; ++i) {
        Value* row = row_factor(step, i, k);
        for (int j = 0; j < shape_.vectors; ++j) {
          Value*& sum = sums[sum_index(u / width_ % splits_, i, j)];
          sum = add_product(row, columns[j], sum);
        }
      }
      // The scheduler would load the next step's vectors early, and a tile that uses every register
      // would then live on the stack.
      b_.keep_memory_order();
    }
  }

  IrValues reduce_by_strides(const IrValues& start) {
    IrValues carried = start;
    carried.push_back(function_.a());
    carried.push_back(function_.b());
    const int64_t k_stride = reduction_.k_stride.factor, b_stride = reduction_.b_stride.factor;
    const auto steps = [&](IrValues values, int64_t count) {
      Value* bp = values.back();
      values.pop_back();
      Value* ap = values.back();
      values.pop_back();
      for (int64_t u = 0; u < count; u += width_) {
        Step step;
        step.count = std::min(width_, count - u);
        step.a = [&](int i, int k) {
          return a_.at(ap, i * reduction_.row_stride.factor + (u + k) * k_stride);
        };
        step.b = [&](int k) { return columns_.at(bp, (u + k) * b_stride); };
        add_step(u, step, values);
      }
      values.push_back(a_.at(ap, count * k_stride));
      values.push_back(columns_.at(bp, count * b_stride));
      return values;
    };
    const int64_t length = reduction_.length.factor;
    const int64_t whole = length / unroll_ * unroll_;
    carried = b_.loop(b_.index(0), b_.index(whole), unroll_, carried,
                      [&](Value*, const IrValues& values) { return steps(values, unroll_); });
    carried = steps(carried, length - whole);
    carried.resize(start.size());
    return carried;
  }

  // A pointer advanced by a stride; a fixed stride is added to the start's address, so that it
  // costs nothing.
  struct Walk {
    Elements& elements;
    Value* pointer;
    const Extent& stride;
    int64_t steps = 0;
  };
  static Value* at(const Walk& walk) {
    return walk.elements.at(walk.pointer, walk.steps * walk.stride.factor);
  }
  Walk advanced(Walk walk) {
    if (walk.stride.is_fixed()) {
      ++walk.steps;
    } else {
      walk.pointer = walk.elements.at(walk.pointer, b_.value(walk.stride));
    }
    return walk;
  }

  // Reduces with strides or a length known only when the kernel runs.
  IrValues reduce_by_extents(const IrValues& start) {
    const int rows_per_base = reduction_.row_stride.is_fixed() ? shape_.rows : 4;
    IrValues carried = start;
    for (int i = 0; i < shape_.rows; i += rows_per_base) {
      carried.push_back(a_.at(function_.a(), b_.mul(b_.index(i), reduction_.row_stride)));
    }
    carried.push_back(function_.b());
    const auto steps = [&](const IrValues& values, int64_t count) {
      IrValues sums(values.begin(), values.begin() + static_cast<int64_t>(start.size()));
      // The walks at step u, then at u + 1.
      std::vector<std::vector<Walk>> bases(1);
      for (size_t n = start.size(); n + 1 < values.size(); ++n)
        bases[0].push_back({a_, values[n], reduction_.k_stride});
      std::vector<Walk> rows_of_b = {{columns_, values.back(), reduction_.b_stride}};
      for (int64_t u = 0; u < count; u += width_) {
        Step step;
        step.count = std::min(width_, count - u);
        for (int64_t k = 0; k < step.count; ++k) {
          std::vector<Walk> next;
          for (const Walk& base : bases.back()) next.push_back(advanced(base));
          bases.push_back(std::move(next));
          rows_of_b.push_back(advanced(rows_of_b.back()));
        }
        step.a = [&](int i, int k) {
          return a_.at(
              at(bases[static_cast<size_t>(u + k)][static_cast<size_t>(i / rows_per_base)]),
              b_.mul(b_.index(i % rows_per_base), reduction_.row_stride));
        };
        step.b = [&](int k) { return at(rows_of_b[static_cast<size_t>(u + k)]); };
        add_step(u, step, sums);
      }
      for (const Walk& base : bases.back()) sums.push_back(at(base));
      sums.push_back(at(rows_of_b.back()));
      return sums;
    };
    Value* length = b_.value(reduction_.length);
    Value* done = b_.index(0);
    for (int64_t count = unroll_; count > 0; count = count > width_ ? width_ : count - 1) {
      Value* end = b_.mul(b_.div(length, count), count);
      carried = b_.loop(done, end, count, carried,
                        [&](Value*, const IrValues& values) { return steps(values, count); });
      done = end;
    }
    carried.resize(start.size());
    return carried;
  }

  IrValues reduce_by_pointers(const IrValues& start) {
    IrValues carried = start;
    carried.push_back(function_.a());
    carried.push_back(function_.b());
    carried = b_.loop(
        b_.index(0), b_.index(reduction_.segments), 1, carried,
        [&](Value*, const IrValues& values) {
          IrValues next = values;
          Value* bp = next.back();
          next.pop_back();
          Value* table = next.back();
          next.pop_back();
          IrValues rows;
          for (int i = 0; i < shape_.rows; ++i) {
            rows.push_back(b_.ir().CreateLoad(b_.pointer_type(), b_.ir().CreateConstInBoundsGEP1_64(
                                                                     b_.pointer_type(), table, i)));
          }
          next = reduce_segment(rows, bp, next);
          next.insert(next.end() - 1, b_.ir().CreateConstInBoundsGEP1_64(b_.pointer_type(), table,
                                                                         reduction_.table_rows));
          return next;
        });
    carried.resize(start.size());
    return carried;
  }

  // Returns the sums and, last, B's pointer after the segment.
  IrValues reduce_segment(const IrValues& rows, Value* bp, IrValues carried) {
    carried.push_back(bp);
    const auto steps = [&](Value* first, IrValues values, int64_t count) {
      Value* p = values.back();
      values.pop_back();
      for (int64_t u = 0; u < count; u += width_) {
        Step step;
        step.count = std::min(width_, count - u);
        step.a = [&](int i, int k) { return a_.at(a_.at(rows[i], first), u + k); };
        step.b = [&](int k) { return columns_.at(p, (u + k) * reduction_.b_stride.factor); };
        add_step(u, step, values);
      }
      values.push_back(columns_.at(p, count * reduction_.b_stride.factor));
      return values;
    };
    const int64_t length = reduction_.length.factor;
    const int64_t whole = length / unroll_ * unroll_;
    carried = b_.loop(b_.index(0), b_.index(whole), unroll_, carried,
                      [&](Value* k, const IrValues& values) { return steps(k, values, unroll_); });
    return steps(b_.index(whole), carried, length - whole);
  }

  IrValues add_splits(const IrValues& sums) {
    const size_t count = static_cast<size_t>(shape_.rows) * shape_.vectors;
    IrValues results = sums;
    for (size_t width = results.size() / 2; width >= count && results.size() > count; width /= 2) {
      for (size_t n = 0; n < width; ++n)
        results[n] = b_.ir().CreateFAdd(results[n], results[n + width]);
      results.resize(width);
    }
    return results;
  }

  KernelBuilder& b_;
  const TileShape& shape_;
  const TileReduction& reduction_;
  TileFunction function_;
  Elements a_, columns_;
  Bf16Pairs pairs_;
  int64_t width_;  // reduction steps that are read together
  Value* gathered_ =
      nullptr;  // offsets of a vector's columns in B, where these do not follow each other
  int64_t splits_ = 1;
  int64_t unroll_ = 4;
};

}  // namespace

llvm::Function* emit_tile(KernelBuilder& builder, const std::string& name, const TileShape& shape,
                          const TileReduction& reduction, const TileOutput& output) {
  return TileEmitter(builder, name, shape, reduction, output).emit();
}

}  // namespace sluice
