#include "stages/subgraph-optimize/codegen/attention/turned_rows.h"

#include "stages/subgraph-optimize/codegen/emit/register_transpose.h"

namespace sluice {

using llvm::Value;

void emit_turned_rows(KernelBuilder& b, const TurnedRows& rows,
                      const std::function<void(Value* at, Value* elements)>& use) {
  Value* whole = b.mul(b.div(rows.count, rows.lanes), rows.lanes);
  b.loop(b.index(0), whole, rows.lanes, [&](Value* at) {
    IrValues square;
    for (int row = 0; row < rows.lanes; ++row) square.push_back(rows.load_vector(row, at));
    transpose_in_registers(b, square);
    for (int i = 0; i < rows.lanes; ++i) use(b.add(at, b.index(i)), square[static_cast<size_t>(i)]);
  });
  b.loop(whole, rows.count, 1, [&](Value* at) {
    Value* elements = b.splat(0.0f, rows.lanes);
    for (int row = 0; row < rows.lanes; ++row) {
      elements =
          b.ir().CreateInsertElement(elements, rows.load_one(row, at), static_cast<uint64_t>(row));
    }
    use(at, elements);
  });
}

}  // namespace sluice
