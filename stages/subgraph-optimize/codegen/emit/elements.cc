#include "stages/subgraph-optimize/codegen/emit/elements.h"

#include "stages/subgraph-optimize/codegen/emit/math.h"

namespace sluice {

using llvm::Align;
using llvm::Value;

llvm::Type* Elements::element_type() {
  return is_half() ? static_cast<llvm::Type*>(b_.ir().getInt16Ty()) : b_.float_type();
}

llvm::Type* Elements::bits_type(int lanes) {
  return llvm::FixedVectorType::get(b_.ir().getInt16Ty(), lanes);
}

Value* Elements::widened(Value* bits) {
  MathEmitter math(b_.ir(), b_.profile());
  return dtype_ == DType::kF16 ? math.half_to_factor(bits) : math.bfloat_to_float(bits);
}

Value* Elements::narrowed(Value* floats) {
  MathEmitter math(b_.ir(), b_.profile());
  return dtype_ == DType::kF16 ? math.float_to_half(floats) : math.float_to_bfloat(floats);
}

Value* Elements::at(Value* pointer, Value* offset) {
  return b_.ir().CreateInBoundsGEP(element_type(), pointer, offset);
}

Value* Elements::at_anywhere(Value* pointer, Value* offset) {
  return b_.ir().CreateGEP(element_type(), pointer, offset);
}

Value* Elements::load(Value* pointer) {
  if (!is_half()) return b_.load_float(pointer);
  return widened(b_.ir().CreateAlignedLoad(element_type(), pointer, Align(2)));
}

Value* Elements::load_vector(Value* pointer, int lanes, int active) {
  if (!is_half()) return b_.load_vector(pointer, lanes, active);
  llvm::Type* type = bits_type(lanes);
  if (active == lanes) return widened(b_.ir().CreateAlignedLoad(type, pointer, Align(2)));
  return widened(b_.ir().CreateMaskedLoad(type, pointer, Align(2), b_.known_mask(active, lanes),
                                          llvm::Constant::getNullValue(type)));
}

Value* Elements::load_masked(Value* pointer, int lanes, Value* mask) {
  if (!is_half()) return b_.load_masked(pointer, lanes, mask);
  llvm::Type* type = bits_type(lanes);
  return widened(
      b_.ir().CreateMaskedLoad(type, pointer, Align(2), mask, llvm::Constant::getNullValue(type)));
}

Value* Elements::gather(Value* pointer, Value* offsets, Value* mask) {
  if (!is_half()) return b_.gather(pointer, offsets, mask);
  const auto lanes = llvm::cast<llvm::FixedVectorType>(offsets->getType())->getNumElements();
  llvm::Type* type = bits_type(static_cast<int>(lanes));
  Value* addresses = b_.ir().CreateGEP(element_type(), pointer, offsets);
  return widened(b_.ir().CreateMaskedGather(type, addresses, Align(2), mask,
                                            llvm::Constant::getNullValue(type)));
}

void Elements::store(Value* scalar, Value* pointer) {
  Value* stored = is_half() ? narrowed(scalar) : scalar;
  b_.ir().CreateAlignedStore(stored, pointer, Align(static_cast<uint64_t>(bytes())));
}

void Elements::store_vector(Value* vector, Value* pointer, int active) {
  if (!is_half()) return b_.store_vector(vector, pointer, active);
  const int lanes =
      static_cast<int>(llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements());
  Value* stored = narrowed(vector);
  if (active == lanes) {
    b_.ir().CreateAlignedStore(stored, pointer, Align(2));
  } else {
    b_.ir().CreateMaskedStore(stored, pointer, Align(2), b_.known_mask(active, lanes));
  }
}

void Elements::store_masked(Value* vector, Value* pointer, Value* mask) {
  if (!is_half()) return b_.store_masked(vector, pointer, mask);
  b_.ir().CreateMaskedStore(narrowed(vector), pointer, Align(2), mask);
}

}  // namespace sluice
