#include "stages/subgraph-optimize/codegen/int8/int8_emitter.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "fmt/format.h"
#include "stages/subgraph-optimize/codegen/emit/epilogue_emitter.h"

namespace sluice {
namespace {

using llvm::Value;

int lanes_of(Value* vector) {
  return static_cast<int>(llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements());
}

llvm::Constant* first_lanes(llvm::IRBuilder<>& ir, int lanes, int active) {
  std::vector<llvm::Constant*> bits;
  for (int i = 0; i < lanes; ++i) bits.push_back(ir.getInt1(i < active));
  return llvm::ConstantVector::get(bits);
}

}  // namespace

Value* Int8Emitter::bytes_at(Value* pointer, Value* offset) {
  return b_.ir().CreateGEP(b_.ir().getInt8Ty(), pointer, offset);
}

Value* Int8Emitter::ints(int32_t value, int lanes) {
  return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes),
                                        b_.ir().getInt32(static_cast<uint32_t>(value)));
}

Value* Int8Emitter::load_ints(Value* pointer, int lanes, int active) {
  return b_.ir().CreateBitCast(b_.load_vector(pointer, lanes, active), int_vector(lanes));
}

Value* Int8Emitter::load_bytes(Value* pointer, int lanes, int active) {
  if (active == lanes)
    return b_.ir().CreateAlignedLoad(byte_vector(lanes), pointer, llvm::Align(1));
  return b_.ir().CreateMaskedLoad(byte_vector(lanes), pointer, llvm::Align(1),
                                  first_lanes(b_.ir(), lanes, active),
                                  llvm::Constant::getNullValue(byte_vector(lanes)));
}

void Int8Emitter::store_bytes(Value* vector, Value* pointer, int active) {
  if (active == lanes_of(vector)) {
    b_.ir().CreateAlignedStore(vector, pointer, llvm::Align(1));
  } else {
    b_.ir().CreateMaskedStore(vector, pointer, llvm::Align(1),
                              first_lanes(b_.ir(), lanes_of(vector), active));
  }
}

Value* Int8Emitter::widened(Value* vector, int bits, bool is_signed) {
  llvm::Type* type = llvm::FixedVectorType::get(b_.ir().getIntNTy(static_cast<unsigned>(bits)),
                                                static_cast<unsigned>(lanes_of(vector)));
  return is_signed ? b_.ir().CreateSExt(vector, type) : b_.ir().CreateZExt(vector, type);
}

Value* Int8Emitter::load_byte(Value* pointer, bool is_signed) {
  Value* byte = b_.ir().CreateAlignedLoad(b_.ir().getInt8Ty(), pointer, llvm::Align(1));
  return is_signed ? b_.ir().CreateSExt(byte, b_.ir().getInt32Ty())
                   : b_.ir().CreateZExt(byte, b_.ir().getInt32Ty());
}

Value* Int8Emitter::add_products_of_pairs(Value* sum, Value* x, Value* w) {
  const int lanes = lanes_of(sum);
  const llvm::Intrinsic::ID multiply = lanes == 16  ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                                       : lanes == 8 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                                                    : llvm::Intrinsic::x86_sse2_pmadd_wd;
  return opaque(b_.ir().CreateAdd(sum, b_.ir().CreateIntrinsic(multiply, {}, {x, w})));
}

Value* Int8Emitter::add_products_of_fours(Value* sum, Value* x, Value* w) {
  if (!b_.profile().int8_dot_product) return add_narrow_products(sum, x, w);
  const int lanes = lanes_of(sum);
  const llvm::Intrinsic::ID multiply = lanes == 16  ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
                                       : lanes == 8 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256
                                                    : llvm::Intrinsic::x86_avx512_vpdpbusd_128;
  return b_.ir().CreateIntrinsic(multiply, {}, {sum, x, w});
}

// Two products of bytes are added to 16 bits, saturated, then two of these sums to 32 bits.
Value* Int8Emitter::add_narrow_products(Value* sum, Value* x, Value* w) {
  const int lanes = lanes_of(sum);
  const llvm::Intrinsic::ID multiply = lanes == 16  ? llvm::Intrinsic::x86_avx512_pmaddubs_w_512
                                       : lanes == 8 ? llvm::Intrinsic::x86_avx2_pmadd_ub_sw
                                                    : llvm::Intrinsic::x86_ssse3_pmadd_ub_sw_128;
  llvm::Type* bytes = byte_vector(4 * lanes);
  Value* pairs = b_.ir().CreateIntrinsic(
      multiply, {}, {b_.ir().CreateBitCast(x, bytes), b_.ir().CreateBitCast(w, bytes)});
  return add_products_of_pairs(sum, pairs,
                               b_.ir().CreateBitCast(ints(0x00010001, lanes), pairs->getType()));
}

Value* Int8Emitter::opaque(Value* vector) {
  auto* type = llvm::FunctionType::get(vector->getType(), {vector->getType()}, false);
  return b_.ir().CreateCall(llvm::InlineAsm::get(type, "", "=v,0", false), {vector});
}

Value* Int8Emitter::add_elements(Value* sum, Value* elements, int unit) {
  const int lanes = lanes_of(sum);
  if (unit == 4)
    return add_products_of_fours(sum, b_.ir().CreateBitCast(elements, int_vector(lanes)),
                                 ints(0x01010101, lanes));  // which are narrow
  auto* pairs = llvm::FixedVectorType::get(b_.ir().getInt16Ty(), static_cast<unsigned>(2 * lanes));
  return add_products_of_pairs(sum, b_.ir().CreateBitCast(elements, pairs),
                               b_.ir().CreateBitCast(ints(0x00010001, lanes), pairs));
}

void Int8Emitter::finish(Value* sums, const Epilogue& epilogue,
                         const std::function<Value*(int)>& load, Value* y, int active,
                         Value* mask) {
  Value* stored = emit_epilogue(b_, epilogue, sums, load);
  if (mask != nullptr) {
    b_.ir().CreateMaskedStore(stored, y, llvm::Align(1), mask);
    return;
  }
  if (int8_stored_bytes(epilogue) == 1) return store_bytes(stored, y, active);
  b_.store_vector(b_.ir().CreateBitCast(stored, b_.vector_type(lanes_of(sums))), y, active);
}

int64_t int8_stored_bytes(const Epilogue& epilogue) {
  return dtype_bits(epilogue.stored(DType::kI32)) / 8;
}

Result<void> check_int8_numbers(const Int8Numbers& numbers, const Epilogue& epilogue,
                                size_t batch_rank) {
  const int32_t low = numbers.x_signed ? -128 : 0;
  if (numbers.x_zero < low || numbers.x_zero > low + 255)
    return make_error(ErrorCode::kCodegen, "int8 kernel with {} as zero point of x",
                      numbers.x_zero);
  if (const int64_t bytes = int8_stored_bytes(epilogue); bytes != 1 && bytes != 4)
    return make_error(ErrorCode::kCodegen, "int8 kernel with results of {} bytes", bytes);
  return check_epilogue(epilogue, batch_rank, DType::kI32);
}

std::string canonical_text(const Int8Numbers& n) {
  return fmt::format("x signed {} zero {} {} w zero {} bias {}", n.x_signed, n.x_zero,
                     n.x_zero_is_operand, n.has_w_zero, n.has_bias);
}

Int8Pointers int8_pointers(KernelBuilder& b, const Int8Numbers& numbers, const Epilogue& epilogue) {
  Int8Pointers p{};
  p.y = b.pointer_argument(0), p.x = b.pointer_argument(1), p.weights = b.pointer_argument(2),
  p.sums = b.pointer_argument(3);
  int next = 4;
  if (numbers.has_w_zero) p.w_zero = b.pointer_argument(next++);
  if (numbers.has_bias) p.bias = b.pointer_argument(next++);
  p.x_zero = numbers.x_zero_is_operand
                 ? Int8Emitter(b).load_byte(b.pointer_argument(next++), numbers.x_signed)
                 : b.ir().getInt32(static_cast<uint32_t>(numbers.x_zero));
  p.operands = b.pointer_arguments(next, epilogue.operands.size());
  return p;
}

}  // namespace sluice
