#include "stages/subgraph-optimize/codegen/attention/attention_rows.h"

#include "stages/subgraph-optimize/codegen/attention/attention_steps.h"
#include "stages/subgraph-optimize/codegen/attention/turned_rows.h"
#include "stages/subgraph-optimize/codegen/emit/elements.h"

namespace sluice {
namespace {

using llvm::Value;

// Elements that follow each other.
struct Line {
  Elements elements;
  Value* first;
};

// Emits for element by lanes: to[element] = from[element] * factor.
void emit_scaled(KernelBuilder& b, int64_t size, int lanes, Line from, Line to, Value* factor) {
  Value* factors = b.broadcast(factor, lanes);
  const auto copy = [&](Value* at, int active) {
    Value* loaded = from.elements.load_vector(from.elements.at(from.first, at), lanes, active);
    to.elements.store_vector(b.ir().CreateFMul(loaded, factors), to.elements.at(to.first, at),
                             active);
  };
  const int64_t whole = size / lanes * lanes;
  b.loop(b.index(0), b.index(whole), lanes, [&](Value* at) { copy(at, lanes); });
  if (whole < size) copy(b.index(whole), static_cast<int>(size - whole));
}

}  // namespace

AttentionRows::Row AttentionRows::find(Value* row) {
  row = b_.add(task_.first_row, row);
  if (spec_.group() == 1) return {b_.index(0), row};
  Value* queries = b_.value(spec_.queries);
  return {b_.div(row, queries), b_.mod(row, queries)};
}

Value* AttentionRows::offset(const AttentionOperand& operand, Value* row) {
  const Row own = find(row);
  return b_.add(b_.mul(own.head, operand.head_stride), b_.mul(own.query, operand.row_stride));
}

Value* AttentionRows::entry(int64_t table, llvm::Type* type, Value* row) {
  return b_.ir().CreateInBoundsGEP(type, b_.at(scratch_, table), row);
}

Value* AttentionRows::last_query() {
  Value* last = b_.sub(b_.value(spec_.queries), b_.index(1));
  Value* first = find(b_.index(0)).query;
  return b_.min(last, b_.add(first, b_.sub(task_.rows, b_.index(1))));
}

void AttentionRows::begin() {
  const int64_t lanes = int64_t{plan_.softmax_vectors} * plan_.scores.lanes;
  Value* end = b_.mul(b_.ceil_div(task_.rows, b_.index(lanes)), lanes);
  b_.loop(b_.index(0), end, 1, [&](Value* row) { begin_row(row); });
  const int tile = plan_.values.rows;
  Value* rows = b_.mul(b_.ceil_div(task_.rows, b_.index(tile)), tile);
  const int columns = plan_.values.lanes;
  b_.loop(b_.index(0), b_.mul(rows, plan_.column_stride), columns, [&](Value* at) {
    b_.store_vector(b_.splat(0, columns), b_.at(b_.at(scratch_, plan_.sums_at), at), columns);
  });
}

void AttentionRows::begin_row(Value* row) {
  const auto store = [&](int64_t table, Value* number) {
    b_.ir().CreateAlignedStore(number, entry(table, number->getType(), row), llvm::Align(4));
  };
  store(plan_.maxima_at, llvm::ConstantFP::get(b_.float_type(), double{kHiddenScore}));
  store(plan_.norms_at, llvm::ConstantFP::get(b_.float_type(), 0));
  const Row own = find(b_.min(row, b_.sub(task_.rows, b_.index(1))));
  if (spec_.is_causal) {
    Value* position = b_.min(b_.add(own.query, task_.keys_before), b_.value(spec_.keys));
    position = b_.max(position, b_.index(-1));
    store(plan_.positions_at, b_.ir().CreateTrunc(position, b_.ir().getInt32Ty()));
  }
  if (has_row_mask(spec_)) {
    store(plan_.mask_offsets_at, b_.add(b_.mul(own.head, spec_.mask.head_stride),
                                        b_.mul(own.query, spec_.mask.row_stride)));
  }
}

void AttentionRows::pack(Value* width) {
  const int lanes = plan_.scores.lanes;
  Elements elements(b_, spec_.q.dtype);
  Value* end = b_.mul(b_.ceil_div(task_.rows, width), width);
  b_.loop(b_.index(0), end, lanes, [&](Value* first) {
    IrValues rows;
    for (int i = 0; i < lanes; ++i) {
      Value* row = b_.min(b_.add(first, b_.index(i)), b_.sub(task_.rows, b_.index(1)));
      rows.push_back(elements.at(task_.q, offset(spec_.q, row)));
    }
    Value* in_panel = b_.mod(first, width);
    Value* panel = b_.at(b_.at(scratch_, plan_.queries_at),
                         b_.add(b_.mul(b_.sub(first, in_panel), spec_.key_size), in_panel));
    TurnedRows turned;
    turned.lanes = lanes;
    turned.count = b_.index(spec_.key_size);
    turned.load_vector = [&](int row, Value* at) {
      return elements.load_vector(elements.at(rows[static_cast<size_t>(row)], at), lanes, lanes);
    };
    turned.load_one = [&](int row, Value* at) {
      return elements.load(elements.at(rows[static_cast<size_t>(row)], at));
    };
    emit_turned_rows(b_, turned, [&](Value* at, Value* queries) {
      b_.store_vector(b_.ir().CreateFMul(queries, b_.splat(spec_.scale, lanes)),
                      b_.at(panel, b_.mul(at, width)), lanes);
    });
  });
}

void AttentionRows::copy() {
  Value* scale = llvm::ConstantFP::get(b_.float_type(), double{spec_.scale});
  b_.loop(b_.index(0), task_.rows, 1, [&](Value* row) {
    Elements in_memory(b_, spec_.q.dtype);
    Value* copies = b_.at(b_.at(scratch_, plan_.queries_at), b_.mul(row, spec_.key_size));
    emit_scaled(b_, spec_.key_size, plan_.dot_lanes,
                {in_memory, in_memory.at(task_.q, offset(spec_.q, row))},
                {Elements(b_, DType::kF32), copies}, scale);
  });
}

void AttentionRows::store() {
  Value* zero = llvm::ConstantFP::get(b_.float_type(), 0);
  Value* one = llvm::ConstantFP::get(b_.float_type(), 1);
  b_.loop(b_.index(0), task_.rows, 1, [&](Value* row) {
    Value* norm = b_.load_float(entry(plan_.norms_at, b_.float_type(), row));
    Value* is_empty = b_.ir().CreateFCmpOEQ(norm, zero);
    if (spec_.keeps_nan) is_empty = b_.ir().CreateICmpEQ(b_.value(spec_.keys), b_.index(0));
    Value* factor = b_.ir().CreateSelect(is_empty, zero, b_.ir().CreateFDiv(one, norm));
    Elements in_memory(b_, spec_.y.dtype);
    Value* sums = b_.at(b_.at(scratch_, plan_.sums_at), b_.mul(row, plan_.column_stride));
    emit_scaled(b_, spec_.value_size, plan_.values.lanes, {Elements(b_, DType::kF32), sums},
                {in_memory, in_memory.at(task_.y, offset(spec_.y, row))}, factor);
  });
}

}  // namespace sluice
