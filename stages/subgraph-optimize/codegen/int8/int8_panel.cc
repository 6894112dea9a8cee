#include "stages/subgraph-optimize/codegen/int8/int8_panel.h"

namespace sluice {
namespace {

using llvm::Value;

// Emits the packing of one panel:
//
//   for step of `unit` rows (the last one, which may have fewer, apart):
//     for vector j of columns (written out):
//       v = the bytes of the rows, those of a column side by side
//       unit 4: panel[step][j] = v, as signed bytes;  sums[j] += v
//       unit 2: panel[step][j] = v - zero, as 16 bits
//   unit 4: sums[j] -= rows * zero
//
// Rows that lie along the columns in memory are vectors; otherwise a step of a column is one load.
class PanelEmitter {
 public:
  PanelEmitter(KernelBuilder& builder, const Int8PanelSource& source, const Int8Panel& panel,
               bool is_whole)
      : b_(builder), ints_(builder), source_(source), panel_(panel), is_whole_(is_whole) {}

  void emit() {
    find_columns();
    for (size_t j = 0; j < vectors(); ++j) zeros_.push_back(zero(static_cast<int>(j)));
    Value* whole = b_.mul(b_.div(source_.rows, panel_.unit), panel_.unit);
    IrValues sums(is_centered() ? 0 : vectors(), ints_.ints(0, panel_.lanes));
    sums = b_.loop(b_.index(0), whole, panel_.unit, sums, [&](Value* row, const IrValues& before) {
      return emit_step(row, before, [&](int j) { return whole_step(row, j); });
    });
    sums = b_.loop(whole, source_.rows, panel_.unit, sums, [&](Value* row, const IrValues& before) {
      return emit_step(row, before, [&](int j) { return short_step(row, j); });
    });
    if (!is_centered()) store_sums(sums);
  }

 private:
  bool is_centered() const { return panel_.unit == 2; }
  size_t vectors() const { return static_cast<size_t>(panel_.nr / panel_.lanes); }
  bool has_rows() const { return source_.column_stride.is_fixed_at(1); }

  // Finds the offsets of the columns, limited to those that exist.
  void find_columns() {
    if (is_whole_ && has_rows()) return;
    Value* last = b_.sub(source_.columns, b_.index(1));
    for (int64_t column = 0; column < panel_.nr; ++column) {
      Value* number = is_whole_ ? b_.index(column) : b_.min(b_.index(column), last);
      numbers_.push_back(number);
      offsets_.push_back(b_.mul(number, source_.column_stride));
    }
  }

  // Returns a vector of one loaded integer of `bits` for each column.
  Value* load_each(int j, unsigned bits, const std::function<Value*(size_t column)>& address) {
    llvm::Type* type = b_.ir().getIntNTy(bits);
    Value* vector = llvm::Constant::getNullValue(llvm::FixedVectorType::get(type, panel_.lanes));
    for (int lane = 0; lane < panel_.lanes; ++lane) {
      const auto column = static_cast<size_t>(j * panel_.lanes + lane);
      Value* loaded = b_.ir().CreateAlignedLoad(type, address(column), llvm::Align(1));
      vector = b_.ir().CreateInsertElement(vector, loaded, static_cast<uint64_t>(lane));
    }
    return vector;
  }

  Value* row_at(Value* row) {
    return ints_.bytes_at(source_.first, b_.mul(row, source_.row_stride));
  }

  // Returns the bytes of one row.
  Value* load_row(Value* row, int j) {
    Value* from = row_at(row);
    if (is_whole_ && has_rows())
      return ints_.load_bytes(ints_.bytes_at(from, int64_t{j} * panel_.lanes), panel_.lanes,
                              panel_.lanes);
    return load_each(j, 8, [&](size_t column) { return ints_.bytes_at(from, offsets_[column]); });
  }

  Value* whole_step(Value* row, int j) {
    if (!has_rows()) {
      Value* from = row_at(row);
      Value* steps = load_each(j, static_cast<unsigned>(8 * panel_.unit), [&](size_t column) {
        return ints_.bytes_at(from, offsets_[column]);
      });
      return b_.ir().CreateBitCast(steps, ints_.byte_vector(panel_.lanes * panel_.unit));
    }
    IrValues rows;
    for (int u = 0; u < panel_.unit; ++u) rows.push_back(load_row(b_.add(row, b_.index(u)), j));
    return side_by_side(rows);
  }

  // Returns a step of which not all rows exist: the others are of elements that become 0.
  Value* short_step(Value* row, int j) {
    IrValues rows;
    for (int u = 0; u < panel_.unit; ++u) {
      Value* own = b_.add(row, b_.index(u));
      Value* loaded = load_row(b_.min(own, b_.sub(source_.rows, b_.index(1))), j);
      Value* nothing = b_.broadcast(b_.ir().getInt8(source_.is_signed ? 0 : 0x80), panel_.lanes);
      rows.push_back(
          b_.ir().CreateSelect(b_.ir().CreateICmpSLT(own, source_.rows), loaded, nothing));
    }
    return side_by_side(rows);
  }

  // Returns [column][row] of vectors of bytes.
  Value* side_by_side(const IrValues& rows) {
    if (rows.size() == 2) return interleaved(rows[0], rows[1]);
    return interleaved(interleaved(rows[0], rows[2]), interleaved(rows[1], rows[3]));
  }

  Value* interleaved(Value* a, Value* b) {
    const auto lanes =
        static_cast<int>(llvm::cast<llvm::FixedVectorType>(a->getType())->getNumElements());
    std::vector<int> order;
    for (int i = 0; i < lanes; ++i) order.insert(order.end(), {i, i + lanes});
    return b_.ir().CreateShuffleVector(a, b, order);
  }

  // Returns the zero points of a vector of columns: centered ones of 16 bits for each element of a
  // step, otherwise i32 in the range of packed weights.
  Value* zero(int j) {
    Value* bytes = source_.zero == nullptr
                       ? llvm::Constant::getNullValue(ints_.byte_vector(panel_.lanes))
                       : load_zeros(j);
    if (is_centered()) return ints_.widened(interleaved(bytes, bytes), 16, source_.is_signed);
    return ints_.widened(as_signed(bytes), 32, true);
  }

  Value* load_zeros(int j) {
    if (!source_.has_zero_per_column) {
      Value* byte = b_.ir().CreateAlignedLoad(b_.ir().getInt8Ty(), source_.zero, llvm::Align(1));
      return b_.broadcast(byte, panel_.lanes);
    }
    return load_each(j, 8, [&](size_t column) {
      Value* number = numbers_.empty() ? b_.index(static_cast<int64_t>(column)) : numbers_[column];
      return ints_.bytes_at(source_.zero, number);
    });
  }

  // Moves bytes without sign by 128.
  Value* as_signed(Value* bytes) {
    if (source_.is_signed) return bytes;
    const auto lanes =
        static_cast<int>(llvm::cast<llvm::FixedVectorType>(bytes->getType())->getNumElements());
    return b_.ir().CreateXor(bytes, b_.broadcast(b_.ir().getInt8(0x80), lanes));
  }

  IrValues emit_step(Value* row, IrValues sums, const std::function<Value*(int j)>& load) {
    const int64_t bytes = is_centered() ? 2 : 1;
    Value* to = ints_.bytes_at(panel_.weights, b_.mul(row, panel_.nr * bytes));
    for (size_t j = 0; j < vectors(); ++j) {
      Value* step = load(static_cast<int>(j));
      Value* stored = is_centered()
                          ? b_.ir().CreateSub(ints_.widened(step, 16, source_.is_signed), zeros_[j])
                          : as_signed(step);
      b_.ir().CreateAlignedStore(
          stored, ints_.bytes_at(to, static_cast<int64_t>(j) * panel_.lanes * 4), llvm::Align(1));
      if (!is_centered())
        sums[j] = ints_.add_products_of_fours(
            sums[j], ints_.ints(0x01010101, panel_.lanes),
            b_.ir().CreateBitCast(stored, ints_.int_vector(panel_.lanes)));
    }
    return sums;
  }

  void store_sums(const IrValues& sums) {
    Value* rows =
        b_.broadcast(b_.ir().CreateTrunc(source_.rows, b_.ir().getInt32Ty()), panel_.lanes);
    for (size_t j = 0; j < vectors(); ++j) {
      const int64_t column = static_cast<int64_t>(j) * panel_.lanes;
      Value* sum = b_.ir().CreateSub(sums[j], b_.ir().CreateMul(rows, zeros_[j]));
      b_.ir().CreateAlignedStore(sum, b_.at(panel_.sums, column), llvm::Align(4));
      b_.ir().CreateAlignedStore(zeros_[j], b_.at(panel_.zeros, column), llvm::Align(4));
    }
  }

  KernelBuilder& b_;
  Int8Emitter ints_;
  const Int8PanelSource& source_;
  const Int8Panel& panel_;
  bool is_whole_;
  IrValues numbers_, offsets_;  // of the columns; empty where they need not be limited
  IrValues zeros_;              // a vector of each vector of columns
};

// Emits the widening of one panel:
//
//   for step of four rows:
//     for half of it, vector j of columns (written out):
//       panel[2 * step + half][j] = packed[step][j][half] - zero
class WideningEmitter {
 public:
  WideningEmitter(KernelBuilder& builder, const PackedPanel& source, const Int8Panel& panel)
      : b_(builder), ints_(builder), source_(source), panel_(panel) {}

  void emit() {
    const int64_t vectors = panel_.nr / panel_.lanes;
    IrValues zeros;
    for (int64_t j = 0; j < vectors && source_.zeros != nullptr; ++j) zeros.push_back(zero(j));
    b_.loop(b_.index(0), b_.index(source_.steps), 1, [&](Value* step) {
      Value* from = b_.at(source_.weights, b_.mul(step, panel_.nr));
      Value* to = b_.at(panel_.weights, b_.mul(step, 2 * panel_.nr));
      for (int64_t j = 0; j < vectors; ++j) {
        const int64_t column = j * panel_.lanes;
        Value* fours = ints_.load_bytes(b_.at(from, column), 4 * panel_.lanes, 4 * panel_.lanes);
        for (const int half : {0, 1}) {
          Value* wide = widened_half(fours, half);
          if (!zeros.empty()) wide = b_.ir().CreateSub(wide, zeros[static_cast<size_t>(j)]);
          b_.ir().CreateAlignedStore(wide, b_.at(to, half * panel_.nr + column), llvm::Align(4));
        }
      }
    });
  }

 private:
  llvm::Type* pairs() { return llvm::FixedVectorType::get(b_.ir().getInt16Ty(), 2 * panel_.lanes); }

  // Returns the first or last two bytes of each four, as 16 bits: they are put into the upper
  // halves of these and shifted down.
  Value* widened_half(Value* fours, int half) {
    std::vector<int> order;
    const int nothing = 4 * panel_.lanes;
    for (int four = 0; four < 4 * panel_.lanes; four += 4)
      order.insert(order.end(), {nothing, four + 2 * half, nothing, four + 2 * half + 1});
    Value* upper =
        b_.ir().CreateShuffleVector(fours, llvm::Constant::getNullValue(fours->getType()), order);
    return b_.ir().CreateAShr(b_.ir().CreateBitCast(upper, pairs()), uint64_t{8});
  }

  // Returns the zero points of a vector of columns, of 16 bits, for both elements of a step.
  Value* zero(int64_t j) {
    const int64_t column = j * panel_.lanes;
    Value* exist = b_.mask(b_.sub(source_.columns, b_.index(column)), panel_.lanes);
    Value* ints =
        b_.ir().CreateBitCast(b_.load_masked(b_.at(source_.zeros, column), panel_.lanes, exist),
                              ints_.int_vector(panel_.lanes));
    Value* both = b_.ir().CreateOr(b_.ir().CreateAnd(ints, ints_.ints(0xFFFF, panel_.lanes)),
                                   b_.ir().CreateShl(ints, uint64_t{16}));
    return b_.ir().CreateBitCast(both, pairs());
  }

  KernelBuilder& b_;
  Int8Emitter ints_;
  const PackedPanel& source_;
  const Int8Panel& panel_;
};

}  // namespace

Value* emit_are_narrow(KernelBuilder& b, Value* weights, Value* bytes, int lanes) {
  constexpr int kLimit = 64;
  Int8Emitter ints(b);
  const int width = 4 * lanes;
  const auto all = [&](int value) { return b.broadcast(b.ir().getInt8(value), width); };
  IrValues max = {all(0)};
  max = b.loop(b.index(0), bytes, width, max, [&](Value* at, const IrValues& before) {
    Value* moved =
        b.ir().CreateAdd(ints.load_bytes(ints.bytes_at(weights, at), width, width), all(kLimit));
    return IrValues{b.ir().CreateBinaryIntrinsic(llvm::Intrinsic::umax, before[0], moved)};
  });
  Value* largest = b.ir().CreateIntMaxReduce(max[0], false);
  return b.ir().CreateICmpULE(largest, b.ir().getInt8(2 * kLimit));
}

void emit_widened_panel(KernelBuilder& b, const PackedPanel& source, const Int8Panel& panel) {
  WideningEmitter(b, source, panel).emit();
}

void emit_int8_panel(KernelBuilder& b, const Int8PanelSource& source, const Int8Panel& panel) {
  b.if_else(
      b.ir().CreateICmpSGE(source.columns, b.index(panel.nr)),
      [&] { PanelEmitter(b, source, panel, true).emit(); },
      [&] { PanelEmitter(b, source, panel, false).emit(); });
}

}  // namespace sluice
