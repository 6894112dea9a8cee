#include "stages/subgraph-optimize/codegen/loop/nan_notes.h"

#include <algorithm>

namespace sluice {

using llvm::Value;
using loop::Accumulator;
using loop::Combine;

bool NanNotes::are_taken(const Accumulator& accumulator) const {
  if (!loop::is_real(accumulator.dtype)) return false;
  if (accumulator.combine != Combine::kMax && accumulator.combine != Combine::kMin) return false;
  const auto& instructions = nest_.sweep(static_cast<size_t>(accumulator.sweep)).instructions;
  return std::ranges::none_of(instructions, [&](loop::InstructionId id) {
    const loop::Instruction& own = nest_.instruction(id);
    return own.kind == loop::InstructionKind::kAccumulator &&
           &nest_.accumulator(own.accumulator) == &accumulator;
  });
}

// Bools where the profile has masks.
llvm::Constant* NanNotes::none(DType dtype, int lanes) const {
  llvm::IRBuilder<>& ir = nest_.builder.ir();
  if (lanes == 1) return ir.getInt1(false);
  llvm::Type* element =
      nest_.has_masks() ? ir.getInt1Ty() : ir.getIntNTy(static_cast<unsigned>(dtype_bits(dtype)));
  return llvm::Constant::getNullValue(
      llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes)));
}

void NanNotes::add(IrValues& notes, const IrValues& fresh) {
  llvm::IRBuilder<>& ir = nest_.builder.ir();
  for (size_t n = 0; n < notes.size(); ++n) {
    Value* any = any_nan(fresh, n, notes.size() == 1 ? fresh.size() : n + 1);
    if (any->getType() != notes[n]->getType()) any = ir.CreateSExt(any, notes[n]->getType());
    notes[n] = ir.CreateOr(notes[n], any);
  }
}

// Where any of the copies [first, last) is NaN, among the lanes that are there. Two copies that
// are there as a whole take one comparison.
Value* NanNotes::any_nan(const IrValues& fresh, size_t first, size_t last) {
  llvm::IRBuilder<>& ir = nest_.builder.ir();
  const auto mask = [&](size_t copy) {
    return fresh[copy]->getType()->isVectorTy() ? values_.present(static_cast<int>(copy)) : nullptr;
  };
  Value* any = nullptr;
  for (size_t copy = first; copy < last; ++copy) {
    const bool is_pair = copy + 1 < last && mask(copy + 1) == nullptr;
    Value* is_nan = ir.CreateFCmpUNO(fresh[copy], fresh[is_pair ? copy + 1 : copy]);
    Value* found = values_.both(is_nan, mask(copy));
    any = any == nullptr ? found : ir.CreateOr(any, found);
    copy += is_pair;
  }
  return any;
}

Value* NanNotes::with_nan(Value* value, Value* note) {
  llvm::IRBuilder<>& ir = nest_.builder.ir();
  if (!note->getType()->getScalarType()->isIntegerTy(1))
    note = ir.CreateICmpNE(note, llvm::Constant::getNullValue(note->getType()));
  if (note->getType()->isVectorTy() && !value->getType()->isVectorTy())
    note = ir.CreateOrReduce(note);
  return ir.CreateSelect(note, llvm::ConstantFP::getNaN(value->getType()), value);
}

}  // namespace sluice
