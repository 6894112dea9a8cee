#include "stages/subgraph-optimize/codegen/recurrent/walk_operands.h"

namespace sluice {

using llvm::Value;

WalkOperands::WalkOperands(KernelBuilder& builder, const RecurrentSpec& spec)
    : elements(builder, spec.dtype), b_(builder), spec_(spec) {
  int next = 0;
  Value* null = llvm::ConstantPointerNull::get(b_.ir().getPtrTy());
  const auto take = [&](bool exists) { return exists ? b_.pointer_argument(next++) : null; };
  y = take(spec.has_y);
  y_h = take(spec.has_y_h);
  y_c = take(spec.has_y_c);
  products = take(true);
  weights = take(true);
  bias = take(spec.has_bias);
  lengths = take(spec.has_lengths);
  h = take(spec.has_h);
  c = take(spec.has_c);
  peepholes = take(spec.has_peepholes);
  steps = b_.value(spec.steps);
}

Value* WalkOperands::products_at(Value* step, Value* sequence, Value* direction) {
  const RecurrentCell& cell = spec_.cell;
  Value* row = cell.is_batch_first ? b_.add(b_.mul(sequence, spec_.steps), step)
                                   : b_.add(b_.mul(step, spec_.batch), sequence);
  Value* line = b_.add(b_.mul(row, cell.directions), direction);
  return b_.at(products, b_.mul(line, cell.gates() * cell.hidden));
}

Value* WalkOperands::result_at(Value* step, Value* sequence, Value* direction) {
  const RecurrentCell& cell = spec_.cell;
  Value* line = nullptr;
  if (cell.is_batch_first) {
    Value* row = b_.add(b_.mul(sequence, spec_.steps), step);
    line = b_.add(b_.mul(row, cell.directions), direction);
  } else {
    Value* row = b_.add(b_.mul(step, cell.directions), direction);
    line = b_.add(b_.mul(row, spec_.batch), sequence);
  }
  return elements.at(y, b_.mul(line, cell.hidden));
}

Value* WalkOperands::state_at(Value* states, Value* sequence, Value* direction) {
  const RecurrentCell& cell = spec_.cell;
  Value* line = cell.is_batch_first ? b_.add(b_.mul(sequence, cell.directions), direction)
                                    : b_.add(b_.mul(direction, spec_.batch), sequence);
  return elements.at(states, b_.mul(line, cell.hidden));
}

Value* WalkOperands::length_of(Value* sequence) {
  llvm::Type* type = b_.ir().getInt32Ty();
  Value* address = b_.ir().CreateInBoundsGEP(type, lengths, sequence);
  Value* length = b_.ir().CreateAlignedLoad(type, address, llvm::Align(4));
  Value* wide = b_.ir().CreateSExt(length, b_.index_type());
  return b_.min(b_.max(wide, b_.index(0)), steps);
}

}  // namespace sluice
