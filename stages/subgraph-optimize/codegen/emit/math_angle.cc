// Follows M. Payne and R. Hanek, Radian Reduction for Trigonometric Functions (1983): x / pi modulo
// 2 needs only the bits of 1 / pi around the weight of x. With x = M 2^E and a window of 192 bits
// of 1 / pi that starts at the weight 2^-E, the product with M modulo 2 is a fixed-point number of
// 128 bits, of which doubles nearest to multiples of pi leave more than 64 after the leading zeros
// (J.-M. Muller, Elementary Functions, 3rd edition, section 11.3).
#include "stages/subgraph-optimize/codegen/emit/math_angle.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include "common/base/inverse_pi.h"
#include "stages/subgraph-optimize/codegen/emit/object_emitter.h"

namespace sluice {
namespace {

using llvm::BasicBlock;
using llvm::Value;

constexpr char kFunction[] = "reduce_large_angles";
constexpr uint64_t kLargeAngleField = 1023 + 17;  // of the exponent

// Emits the reduction of one double, for a loop over several.
class LargeAngle {
 public:
  LargeAngle(Ir& ir, llvm::GlobalVariable* table) : ir_(ir), table_(table) {}

  // Returns x / pi (minus 1/2 for a cosine) modulo 2 for x > 0, in units of 2^-127.
  Value* quotient(Value* bits, Value* field, Value* is_cosine) {
    Value* mantissa = ir_.CreateOr(ir_.CreateAnd(bits, (uint64_t{1} << 52) - 1), uint64_t{1} << 52);
    // The weight 2^-k is bit k + 63 of the table; E = field - 1075.
    Value* first = ir_.CreateSub(field, ir_.getInt64(1075 - 63));
    Value* high = word(first, 0);
    Value* product = ir_.CreateShl(wide(ir_.CreateMul(mantissa, high)), 64);
    product = ir_.CreateAdd(product, ir_.CreateMul(wide(mantissa), wide(word(first, 1))));
    Value* low = ir_.CreateMul(wide(mantissa), wide(word(first, 2)));
    product = ir_.CreateAdd(product, ir_.CreateLShr(low, 64));
    return ir_.CreateSub(product, ir_.CreateShl(wide(is_cosine), 126));
  }

  // Returns the distance of a quotient to the nearest integer times pi, for x of this sign.
  Value* remainder(Value* quotient, Value* sign) {
    Value* fraction = ir_.CreateShl(quotient, 1);  // signed, in units of 2^-128
    Value* is_negative = ir_.CreateICmpSLT(fraction, wide(ir_.getInt64(0)));
    Value* size = ir_.CreateSelect(is_negative, ir_.CreateNeg(fraction), fraction);
    Value* zeros = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, size, ir_.getFalse());
    zeros = ir_.CreateAnd(zeros, 127);
    Value* top = ir_.CreateTrunc(ir_.CreateLShr(ir_.CreateShl(size, zeros), 65), ir_.getInt64Ty());
    Value* number = ir_.CreateSIToFP(top, ir_.getDoubleTy());  // size = top 2^(65 - zeros)
    Value* exponent =
        ir_.CreateSub(ir_.getInt64(1023 + 65 - 128), ir_.CreateTrunc(zeros, ir_.getInt64Ty()));
    Value* power = ir_.CreateBitCast(ir_.CreateShl(exponent, 52), ir_.getDoubleTy());
    number = ir_.CreateFMul(ir_.CreateFMul(number, power),
                            llvm::ConstantFP::get(ir_.getDoubleTy(), 3.1415926535897931));
    number = ir_.CreateSelect(is_negative, ir_.CreateFNeg(number), number);
    return ir_.CreateSelect(sign, ir_.CreateFNeg(number), number);
  }

  // Returns the low bit of the integer nearest to a quotient.
  Value* parity(Value* quotient) {
    Value* rounded = ir_.CreateAdd(quotient, ir_.CreateShl(wide(ir_.getInt64(1)), 126));
    return ir_.CreateTrunc(ir_.CreateLShr(rounded, 127), ir_.getInt64Ty());
  }

 private:
  Value* wide(Value* x) { return ir_.CreateZExt(x, ir_.getInt128Ty()); }

  // Returns 64 bits of the table from bit `first` + 64 `index` on.
  Value* word(Value* first, uint64_t index) {
    Value* at = ir_.CreateAdd(ir_.CreateLShr(first, 6), ir_.getInt64(index));
    const auto load = [&](Value* number) {
      return ir_.CreateLoad(ir_.getInt64Ty(),
                            ir_.CreateInBoundsGEP(ir_.getInt64Ty(), table_, number));
    };
    return ir_.CreateIntrinsic(
        llvm::Intrinsic::fshl, {ir_.getInt64Ty()},
        {load(at), load(ir_.CreateAdd(at, ir_.getInt64(1))), ir_.CreateAnd(first, 63)});
  }

  Ir& ir_;
  llvm::GlobalVariable* table_;
};

llvm::GlobalVariable* make_table(llvm::Module& module) {
  llvm::Constant* words = llvm::ConstantDataArray::get(module.getContext(), kInversePi);
  return new llvm::GlobalVariable(module, words->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                  words, "inverse_pi");
}

// Emits the reduction of numbers[i] to its remainder, with its parity in parities[i]; infinity
// becomes NaN.
void emit_one(Ir& ir, llvm::Function& function, llvm::GlobalVariable* table, Value* i, Value* bits,
              Value* field) {
  LargeAngle angle(ir, table);
  Value* quotient = angle.quotient(bits, field, function.getArg(3));
  // The sine is odd; the cosine is even, but its remainder has been measured from |x| too.
  Value* sign =
      ir.CreateAnd(ir.CreateICmpSLT(bits, ir.getInt64(0)), ir.CreateNot(function.getArg(3)));
  Value* zero = ir.CreateFMul(ir.CreateBitCast(bits, ir.getDoubleTy()),
                              llvm::ConstantFP::get(ir.getDoubleTy(), 0));
  Value* remainder = ir.CreateFAdd(angle.remainder(quotient, sign), zero);
  ir.CreateStore(remainder, ir.CreateInBoundsGEP(ir.getDoubleTy(), function.getArg(0), i));
  ir.CreateStore(angle.parity(quotient),
                 ir.CreateInBoundsGEP(ir.getInt64Ty(), function.getArg(1), i));
}

// Emits for (i = 0; i < count; ++i) if (|numbers[i]| >= 2^17) reduce it.
void emit_body(Ir& ir, llvm::Function& function) {
  llvm::LLVMContext& context = function.getContext();
  llvm::GlobalVariable* table = make_table(*function.getParent());
  BasicBlock* entry = BasicBlock::Create(context, "entry", &function);
  BasicBlock* loop = BasicBlock::Create(context, "loop", &function);
  BasicBlock* reduce = BasicBlock::Create(context, "reduce", &function);
  BasicBlock* next = BasicBlock::Create(context, "next", &function);
  BasicBlock* end = BasicBlock::Create(context, "end", &function);
  ir.SetInsertPoint(entry);
  ir.CreateBr(loop);
  ir.SetInsertPoint(loop);
  llvm::PHINode* i = ir.CreatePHI(ir.getInt64Ty(), 2);
  i->addIncoming(ir.getInt64(0), entry);
  Value* bits =
      ir.CreateLoad(ir.getInt64Ty(), ir.CreateInBoundsGEP(ir.getDoubleTy(), function.getArg(0), i));
  Value* field = ir.CreateAnd(ir.CreateLShr(bits, 52), 2047);
  ir.CreateCondBr(ir.CreateICmpUGE(field, ir.getInt64(kLargeAngleField)), reduce, next);
  ir.SetInsertPoint(reduce);
  emit_one(ir, function, table, i, bits, field);
  ir.CreateBr(next);
  ir.SetInsertPoint(next);
  Value* following = ir.CreateAdd(i, ir.getInt64(1));
  i->addIncoming(following, next);
  ir.CreateCondBr(ir.CreateICmpULT(following, function.getArg(2)), loop, end);
  ir.SetInsertPoint(end);
  ir.CreateRetVoid();
}

// Returns the module's function (double* numbers, i64* parities, i64 count, i1 is_cosine).
llvm::Function* find_or_make_function(const MathBasics& m) {
  Ir& ir = m.ir();
  llvm::Module* module = ir.GetInsertBlock()->getModule();
  if (llvm::Function* known = module->getFunction(kFunction)) return known;
  llvm::Type* parameters[] = {ir.getPtrTy(), ir.getPtrTy(), ir.getInt64Ty(), ir.getInt1Ty()};
  auto* type = llvm::FunctionType::get(ir.getVoidTy(), parameters, false);
  auto* function =
      llvm::Function::Create(type, llvm::Function::InternalLinkage, kFunction, *module);
  set_target(*function, m.profile());
  function->addFnAttr(llvm::Attribute::NoInline);
  function->addFnAttr(llvm::Attribute::Cold);
  llvm::IRBuilderBase::InsertPointGuard guard(ir);
  emit_body(ir, *function);
  return function;
}

Value* frame_memory(Ir& ir, llvm::Type* type) {
  llvm::IRBuilderBase::InsertPointGuard guard(ir);
  BasicBlock& entry = ir.GetInsertBlock()->getParent()->getEntryBlock();
  ir.SetInsertPoint(&entry, entry.getFirstInsertionPt());
  return ir.CreateAlloca(type);
}

// Emits the branch for large angles: through memory, since its lanes are taken one by one.
ReducedAngle reduce_large(const MathBasics& m, Value* x, Value* is_large, const ReducedAngle& small,
                          bool is_cosine) {
  Ir& ir = m.ir();
  Value* numbers = MathBasics::is_double(x) ? x : m.widen(x);
  llvm::Type* words = m.integers(numbers);
  Value* number_memory = frame_memory(ir, numbers->getType());
  Value* parity_memory = frame_memory(ir, words);
  ir.CreateStore(numbers, number_memory);
  ir.CreateStore(llvm::Constant::getNullValue(words), parity_memory);
  ir.CreateCall(
      find_or_make_function(m),
      {number_memory, parity_memory, ir.getInt64(MathBasics::lanes(x)), ir.getInt1(is_cosine)});
  Value* remainder = ir.CreateLoad(numbers->getType(), number_memory);
  Value* parity = ir.CreateTrunc(ir.CreateLoad(words, parity_memory), m.integers(x));
  if (!MathBasics::is_double(x)) remainder = m.narrow(remainder);
  return {m.select(is_large, remainder, small.remainder), m.select(is_large, parity, small.parity)};
}

}  // namespace

ReducedAngle with_large_angles(const MathBasics& m, Value* x, const ReducedAngle& small,
                               bool is_cosine) {
  Ir& ir = m.ir();
  Value* is_large = m.greater(m.abs(x), kLargeAngle);
  Value* any = x->getType()->isVectorTy() ? ir.CreateOrReduce(is_large) : is_large;
  BasicBlock* before = ir.GetInsertBlock();
  llvm::Function* function = before->getParent();
  BasicBlock* rare = BasicBlock::Create(ir.getContext(), "large_angles", function);
  BasicBlock* after = BasicBlock::Create(ir.getContext(), "angles", function);
  ir.CreateCondBr(any, rare, after,
                  llvm::MDBuilder(ir.getContext()).createBranchWeights(1, 1 << 20));
  ir.SetInsertPoint(rare);
  const ReducedAngle large = reduce_large(m, x, is_large, small, is_cosine);
  BasicBlock* rare_end = ir.GetInsertBlock();
  ir.CreateBr(after);
  ir.SetInsertPoint(after);
  const auto merge = [&](Value* usual, Value* other) {
    llvm::PHINode* phi = ir.CreatePHI(usual->getType(), 2);
    phi->addIncoming(usual, before);
    phi->addIncoming(other, rare_end);
    return phi;
  };
  return {merge(small.remainder, large.remainder), merge(small.parity, large.parity)};
}

}  // namespace sluice
