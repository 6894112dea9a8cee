#include "stages/subgraph-optimize/codegen/contraction/row_copies.h"

namespace sluice {

using llvm::Value;

void emit_run_copy(KernelBuilder& b, Elements from, Value* source, const Extent& count, Elements to,
                   Value* target) {
  const auto copy_vector = [&](Value* at, int lanes) {
    Value* vector = source != nullptr ? from.load_vector(from.at(source, at), lanes, lanes)
                                      : b.splat(0.0f, lanes);
    to.store_vector(vector, to.at(target, at), lanes);
  };
  Value* length = b.value(count);
  Value* done = b.index(0);
  for (int lanes = b.profile().vector_bits / 32; lanes >= 4; lanes /= 2) {
    Value* end = b.mul(b.div(length, lanes), lanes);
    b.loop(done, end, lanes, [&](Value* at) { copy_vector(at, lanes); });
    done = end;
  }
  b.loop(done, length, 1, [&](Value* at) {
    Value* element = source != nullptr ? from.load(from.at(source, at))
                                       : llvm::ConstantFP::get(b.float_type(), 0.0);
    to.store(element, to.at(target, at));
  });
}

void emit_row_copies(KernelBuilder& b, Elements from, const RowSource& source, Value* rows,
                     Elements to, Value* target, int64_t to_stride) {
  b.loop(b.index(0), rows, 1, [&](Value* i) {
    Value* row = from.at(source.first, b.mul(i, source.row_stride));
    Value* copy = to.at(target, b.mul(i, to_stride));
    if (source.k_stride.is_fixed_at(1)) return emit_run_copy(b, from, row, source.length, to, copy);
    b.loop(b.index(0), b.value(source.length), 1, [&](Value* k) {
      to.store(from.load(from.at(row, b.mul(k, source.k_stride))), to.at(copy, k));
    });
  });
}

}  // namespace sluice
