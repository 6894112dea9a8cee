#include "stages/subgraph-optimize/codegen/contraction/pack_emitter.h"

#include "stages/subgraph-optimize/codegen/emit/bf16_pairs.h"
#include "stages/subgraph-optimize/codegen/emit/elements.h"
#include "stages/subgraph-optimize/codegen/emit/register_transpose.h"

namespace sluice {
namespace {

using llvm::Value;

int lanes_of(const KernelBuilder& b, const PanelSource& source) {
  int lanes = b.profile().vector_bits / 32;
  while (source.nr % lanes != 0) lanes /= 2;
  return lanes;
}

// A row of a panel has 32 bits for each column: those of one row of the source, or of two as pairs.
class PanelPacker {
 public:
  PanelPacker(KernelBuilder& builder, const PanelSource& source, Value* to)
      : b_(builder),
        source_(source),
        to_(to),
        elements_(builder, source.dtype),
        pairs_(builder),
        in_pairs_(source.in_pairs),
        lanes_(lanes_of(builder, source)) {}

  void emit(Value* panel) {
    const bool has_vectors = source_.nr % 4 == 0;
    const Extent& columns = source_.columns;
    if (source_.row_stride.is_fixed_at(1) && has_vectors) {
      Value* remainder = b_.sub(b_.value(columns), b_.mul(panel, source_.nr));
      return emit_turned(b_.min(remainder, b_.index(source_.nr)));
    }
    const auto emit_whole = [&] {
      if (source_.column_stride.is_fixed_at(1) && has_vectors) return emit_straight();
      emit_strided(b_.index(source_.nr));
    };
    if (columns.is_fixed() && columns.factor % source_.nr == 0) return emit_whole();
    if (columns.is_fixed() && columns.factor < source_.nr)
      return emit_strided(b_.index(columns.factor));
    Value* whole = b_.div(b_.value(columns), source_.nr);
    b_.if_else(b_.ir().CreateICmpSLT(panel, whole), emit_whole,
               [&] { emit_strided(b_.sub(b_.value(columns), b_.mul(whole, source_.nr))); });
  }

 private:
  int64_t width() const { return in_pairs_ ? 2 : 1; }
  Value* panel_row(Value* row) { return b_.at(to_, b_.mul(row, source_.nr)); }
  void store(Value* element, Value* to) { b_.ir().CreateAlignedStore(element, to, llvm::Align(4)); }

  // Emits panels whose columns are contiguous along the rows; squares are transposed in registers:
  //
  //   for column by lanes:
  //     for k by lanes: v[i] = source[column + i][k...] (written out); transpose v
  //                     panel[k + i][column...] = v[i] (written out)
  //     for k of the remainder: panel[k][column + i] = source[column + i][k] (written out)
  //
  // Columns past the end are copies of the last one. Here k counts rows of the panel.
  void emit_turned(Value* active) {
    Value* last = b_.sub(active, b_.index(1));
    Value* length = b_.div(b_.value(source_.rows), width());
    Value* whole = b_.mul(b_.div(length, lanes_), lanes_);
    b_.loop(b_.index(0), active, lanes_, [&](Value* column) {
      IrValues columns;
      for (int i = 0; i < lanes_; ++i) {
        Value* number = b_.min(b_.add(column, b_.index(i)), last);
        columns.push_back(elements_.at(source_.first, b_.mul(number, source_.column_stride)));
      }
      b_.loop(b_.index(0), whole, lanes_,
              [&](Value* k) { emit_square(columns, k, b_.at(panel_row(k), column)); });
      b_.loop(whole, length, 1, [&](Value* k) {
        emit_turned_row(columns, k, column, [&](Value* from) {
          return in_pairs_ ? pairs_.load(from) : elements_.load(from);
        });
      });
      if (in_pairs_) {
        b_.loop(length, b_.div(b_.add(b_.value(source_.rows), b_.index(1)), 2), 1, [&](Value* k) {
          emit_turned_row(columns, k, column,
                          [&](Value* from) { return pairs_.join(elements_.load(from), nullptr); });
        });
      }
    });
  }

  void emit_square(const IrValues& columns, Value* k, Value* to) {
    IrValues square;
    for (Value* column : columns) {
      Value* from = elements_.at(column, b_.mul(k, width()));
      square.push_back(in_pairs_ ? pairs_.load_vector(from, lanes_)
                                 : elements_.load_vector(from, lanes_, lanes_));
    }
    transpose_in_registers(b_, square);
    for (int i = 0; i < lanes_; ++i) b_.store_vector(square[i], b_.at(to, i * source_.nr), lanes_);
  }

  void emit_turned_row(const IrValues& columns, Value* k, Value* column,
                       const std::function<Value*(Value* from)>& load) {
    Value* row = b_.at(panel_row(k), column);
    for (int i = 0; i < lanes_; ++i)
      store(load(elements_.at(columns[i], b_.mul(k, width()))), b_.at(row, i));
  }

  // The rows of the source that make one row of a panel; `next` is null for a single one.
  struct Rows {
    Value *first, *next;
  };

  // Emits for each row of the panel: body(its rows of the source, the row).
  void for_each_row(const std::function<void(const Rows& rows, Value* to)>& body) {
    const auto row = [&](Value* k) {
      return elements_.at(source_.first, b_.mul(k, source_.row_stride));
    };
    Value* length = b_.value(source_.rows);
    if (!in_pairs_) {
      return b_.loop(b_.index(0), length, 1,
                     [&](Value* k) { body({row(k), nullptr}, panel_row(k)); });
    }
    Value* pairs = b_.div(length, 2);
    b_.loop(b_.index(0), pairs, 1, [&](Value* k) {
      Value* first = b_.mul(k, 2);
      body({row(first), row(b_.add(first, b_.index(1)))}, panel_row(k));
    });
    b_.loop(pairs, b_.div(b_.add(length, b_.index(1)), 2), 1,
            [&](Value* k) { body({row(b_.mul(k, 2)), nullptr}, panel_row(k)); });
  }

  // Returns what is stored for columns that `load` loads from a row's address.
  Value* joined(const Rows& rows, const std::function<Value*(Value* row)>& load) {
    Value* first = load(rows.first);
    if (!in_pairs_) return first;
    return pairs_.join(first, rows.next == nullptr ? nullptr : load(rows.next));
  }

  // Emits whole panels whose columns are neighbours in memory, a row's columns written out.
  void emit_straight() {
    for_each_row([&](const Rows& rows, Value* to) {
      for (int64_t column = 0; column < source_.nr; column += lanes_) {
        Value* vector = joined(rows, [&](Value* row) {
          return elements_.load_vector(elements_.at(row, column), lanes_, lanes_);
        });
        b_.store_vector(vector, b_.at(to, column), lanes_);
      }
    });
  }

  void emit_strided(Value* active) {
    for_each_row([&](const Rows& rows, Value* to) {
      b_.loop(b_.index(0), active, 1, [&](Value* j) {
        Value* offset = b_.mul(j, source_.column_stride);
        Value* element =
            joined(rows, [&](Value* row) { return elements_.load(elements_.at(row, offset)); });
        store(element, b_.at(to, j));
      });
    });
  }

  KernelBuilder& b_;
  const PanelSource& source_;
  Value* to_;
  Elements elements_;
  Bf16Pairs pairs_;
  bool in_pairs_;
  int lanes_;
};

}  // namespace

void emit_pack_panel(KernelBuilder& builder, const PanelSource& source, Value* panel, Value* to) {
  PanelPacker(builder, source, to).emit(panel);
}

}  // namespace sluice
