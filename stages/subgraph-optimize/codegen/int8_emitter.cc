#include "stages/subgraph-optimize/codegen/int8_emitter.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "fmt/format.h"
#include "stages/subgraph-optimize/codegen/epilogue_emitter.h"

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

struct ByteRange {
  int32_t low, high;
};
ByteRange range_of(Int8Result result) {
  return result == Int8Result::kI8 ? ByteRange{-128, 127} : ByteRange{0, 255};
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
  return b_.ir().CreateAdd(sum, b_.ir().CreateIntrinsic(multiply, {}, {x, w}));
}

Value* Int8Emitter::add_products_of_fours(Value* sum, Value* x, Value* w) {
  const int lanes = lanes_of(sum);
  const llvm::Intrinsic::ID multiply = lanes == 16  ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
                                       : lanes == 8 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256
                                                    : llvm::Intrinsic::x86_avx512_vpdpbusd_128;
  return b_.ir().CreateIntrinsic(multiply, {}, {sum, x, w});
}

// Clamps before it rounds: between the bounds, adding 1.5 * 2^23 rounds half to even and leaves the
// integer in the low bits. NaN becomes the zero point.
Value* Int8Emitter::quantized(Value* real, const Int8Numbers& numbers) {
  constexpr float kMagic = 12582912.0f;
  constexpr int32_t kMagicBits = 0x4B400000;
  const int lanes = lanes_of(real);
  const ByteRange range = range_of(numbers.result);
  auto& ir = b_.ir();
  real = ir.CreateSelect(ir.CreateFCmpORD(real, real), real, b_.splat(0.0f, lanes));
  Value* low = b_.splat(static_cast<float>(range.low - numbers.y_zero), lanes);
  Value* high = b_.splat(static_cast<float>(range.high - numbers.y_zero), lanes);
  real = ir.CreateSelect(ir.CreateFCmpOGT(real, low), real, low);
  real = ir.CreateSelect(ir.CreateFCmpOLT(real, high), real, high);
  Value* bits = ir.CreateBitCast(ir.CreateFAdd(real, b_.splat(kMagic, lanes)), int_vector(lanes));
  return ir.CreateTrunc(ir.CreateAdd(bits, ints(numbers.y_zero - kMagicBits, lanes)),
                        byte_vector(lanes));
}

void Int8Emitter::finish(Value* sums, const Int8Numbers& numbers, const Epilogue& epilogue,
                         const std::function<Value*(int)>& load, Value* y, int active) {
  const int lanes = lanes_of(sums);
  auto& ir = b_.ir();
  if (numbers.result == Int8Result::kI32)
    return b_.store_vector(ir.CreateBitCast(sums, b_.vector_type(lanes)), y, active);
  Value* real = emit_epilogue(b_, epilogue, ir.CreateSIToFP(sums, b_.vector_type(lanes)), load);
  if (numbers.result == Int8Result::kF32) return b_.store_vector(real, y, active);
  store_bytes(quantized(real, numbers), y, active);
}

int64_t int8_result_bytes(Int8Result result) {
  return result == Int8Result::kI32 || result == Int8Result::kF32 ? 4 : 1;
}

Result<void> check_int8_numbers(const Int8Numbers& numbers, const Epilogue& epilogue) {
  const ByteRange x = range_of(numbers.x_signed ? Int8Result::kI8 : Int8Result::kU8),
                  y = range_of(numbers.result);
  if (numbers.x_zero < x.low || numbers.x_zero > x.high)
    return make_error(ErrorCode::kCodegen, "int8 kernel with {} as zero point of x",
                      numbers.x_zero);
  if (int8_result_bytes(numbers.result) == 1 && (numbers.y_zero < y.low || numbers.y_zero > y.high))
    return make_error(ErrorCode::kCodegen, "int8 kernel with {} as zero point of y",
                      numbers.y_zero);
  if (numbers.result == Int8Result::kI32 && !epilogue.code.empty())
    return make_error(ErrorCode::kCodegen, "int8 kernel with an epilogue behind an integer result");
  return check_epilogue(epilogue, 1);
}

std::string canonical_text(const Int8Numbers& n) {
  return fmt::format("x signed {} zero {} {} w zero {} bias {} result {} zero {}", n.x_signed,
                     n.x_zero, n.x_zero_is_operand, n.has_w_zero, n.has_bias,
                     static_cast<int>(n.result), n.y_zero);
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
