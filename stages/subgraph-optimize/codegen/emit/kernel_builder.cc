#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>

#include <numeric>

#include "stages/subgraph-optimize/codegen/emit/object_emitter.h"

namespace sluice {

using llvm::BasicBlock;
using llvm::Value;

KernelBuilder::KernelBuilder(const DeviceProfile& profile)
    : profile_(profile), module_("kernel", context_), ir_(context_) {}

llvm::Function* KernelBuilder::begin_kernel(const std::string& entry) {
  llvm::Type* parameters[] = {pointer_type(), ir_.getInt32Ty(), ir_.getInt32Ty()};
  auto* type = llvm::FunctionType::get(ir_.getVoidTy(), parameters, false);
  kernel_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, entry, module_);
  set_target(*kernel_, profile_);
  values_.clear();
  ir_.SetInsertPoint(BasicBlock::Create(context_, "entry", kernel_));
  return kernel_;
}

llvm::Function* KernelBuilder::begin_function(const std::string& name,
                                              const std::vector<llvm::Type*>& parameters) {
  auto* type = llvm::FunctionType::get(ir_.getVoidTy(), parameters, false);
  auto* function = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, module_);
  set_target(*function, profile_);
  values_.clear();
  function->addFnAttr(llvm::Attribute::NoInline);
  ir_.SetInsertPoint(BasicBlock::Create(context_, "entry", function));
  return function;
}

Value* KernelBuilder::kernel_member(int member) {
  return ir_.CreateLoad(pointer_type(),
                        ir_.CreateConstInBoundsGEP1_64(pointer_type(), kernel_->getArg(0), member));
}

Value* KernelBuilder::pointer_argument(int index) {
  return ir_.CreateLoad(pointer_type(),
                        ir_.CreateConstInBoundsGEP1_64(pointer_type(), kernel_member(0), index));
}

IrValues KernelBuilder::pointer_arguments(int first, size_t count) {
  IrValues pointers(count);
  for (Value*& pointer : pointers) pointer = pointer_argument(first++);
  return pointers;
}

Value* KernelBuilder::scratch() { return kernel_member(2); }
Value* KernelBuilder::fault() { return kernel_member(3); }

Value* KernelBuilder::block() { return ir_.CreateZExt(kernel_->getArg(1), index_type()); }

Value* KernelBuilder::blocks() { return ir_.CreateZExt(kernel_->getArg(2), index_type()); }

Value* KernelBuilder::symbols_argument() { return kernel_member(1); }

Value* KernelBuilder::value(const Extent& extent) {
  if (extent.is_fixed()) return index(extent.factor);
  Value*& known = values_[{extent.factor, extent.symbols}];
  if (known != nullptr) return known;
  llvm::IRBuilderBase::InsertPointGuard guard(ir_);
  BasicBlock& entry = ir_.GetInsertBlock()->getParent()->getEntryBlock();
  if (llvm::Instruction* end = entry.getTerminator()) {
    ir_.SetInsertPoint(end);
  } else {
    ir_.SetInsertPoint(&entry);
  }
  known = index(extent.factor);
  for (const uint16_t symbol : extent.symbols) {
    known = mul(known, ir_.CreateLoad(index_type(), ir_.CreateConstInBoundsGEP1_64(
                                                        index_type(), symbols_, symbol)));
  }
  return known;
}

Value* KernelBuilder::splat(float value, int lanes) {
  return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes),
                                        llvm::ConstantFP::get(float_type(), value));
}

std::pair<Value*, Value*> KernelBuilder::partition(int64_t size, Value* which, int64_t count) {
  return {div(mul(which, size), count), div(mul(add(which, index(1)), size), count)};
}

std::pair<Value*, Value*> KernelBuilder::partition(Value* size, Value* which, Value* count) {
  return {div(mul(which, size), count), div(mul(add(which, index(1)), size), count)};
}

Value* KernelBuilder::load_float(Value* pointer) {
  return ir_.CreateAlignedLoad(float_type(), pointer, llvm::Align(4));
}

llvm::Constant* KernelBuilder::known_mask(int active, int lanes) {
  std::vector<llvm::Constant*> bits;
  for (int i = 0; i < lanes; ++i) bits.push_back(ir_.getInt1(i < active));
  return llvm::ConstantVector::get(bits);
}

Value* KernelBuilder::load_vector(Value* pointer, int lanes, int active) {
  if (active == lanes) return ir_.CreateAlignedLoad(vector_type(lanes), pointer, llvm::Align(4));
  return ir_.CreateMaskedLoad(vector_type(lanes), pointer, llvm::Align(4),
                              known_mask(active, lanes), splat(0.0f, lanes));
}

void KernelBuilder::store_vector(Value* vector, Value* pointer, int active) {
  const int lanes =
      static_cast<int>(llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements());
  if (active == lanes) {
    ir_.CreateAlignedStore(vector, pointer, llvm::Align(4));
  } else {
    ir_.CreateMaskedStore(vector, pointer, llvm::Align(4), known_mask(active, lanes));
  }
}

Value* KernelBuilder::mask(Value* active, int lanes) {
  std::vector<uint32_t> numbers(static_cast<size_t>(lanes));
  std::iota(numbers.begin(), numbers.end(), 0);
  Value* limit = ir_.CreateVectorSplat(lanes, ir_.CreateTrunc(active, ir_.getInt32Ty()));
  return ir_.CreateICmpSLT(llvm::ConstantDataVector::get(context_, numbers), limit);
}

Value* KernelBuilder::load_masked(Value* pointer, int lanes, Value* mask) {
  return ir_.CreateMaskedLoad(vector_type(lanes), pointer, llvm::Align(4), mask,
                              splat(0.0f, lanes));
}

void KernelBuilder::store_masked(Value* vector, Value* pointer, Value* mask) {
  ir_.CreateMaskedStore(vector, pointer, llvm::Align(4), mask);
}

Value* KernelBuilder::gather(Value* pointer, Value* offsets, Value* mask) {
  const auto lanes = llvm::cast<llvm::FixedVectorType>(offsets->getType())->getNumElements();
  llvm::Type* type = vector_type(static_cast<int>(lanes));
  return ir_.CreateMaskedGather(type, ir_.CreateGEP(float_type(), pointer, offsets), llvm::Align(4),
                                mask, llvm::Constant::getNullValue(type));
}

Value* KernelBuilder::multiples(Value* number, int lanes) {
  std::vector<uint64_t> numbers(static_cast<size_t>(lanes));
  std::iota(numbers.begin(), numbers.end(), 0);
  return ir_.CreateMul(llvm::ConstantDataVector::get(context_, numbers),
                       ir_.CreateVectorSplat(lanes, number));
}

Value* KernelBuilder::multiply_add(Value* a, Value* b, Value* c) {
  if (!profile_.fused_multiply_add) return ir_.CreateFAdd(ir_.CreateFMul(a, b), c);
  return ir_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
}

void KernelBuilder::keep_memory_order() {
  auto* type = llvm::FunctionType::get(ir_.getVoidTy(), false);
  ir_.CreateCall(llvm::InlineAsm::get(type, "", "~{memory}", true));
}

IrValues KernelBuilder::loop(Value* begin, Value* end, int64_t step, IrValues carried,
                             const std::function<IrValues(Value*, const IrValues&)>& body) {
  auto* first = llvm::dyn_cast<llvm::ConstantInt>(begin);
  auto* last = llvm::dyn_cast<llvm::ConstantInt>(end);
  const bool is_known = first && last;
  if (is_known && first->getSExtValue() >= last->getSExtValue()) return carried;
  if (is_known && last->getSExtValue() - first->getSExtValue() <= step) return body(begin, carried);

  llvm::Function* function = ir_.GetInsertBlock()->getParent();
  BasicBlock* before = ir_.GetInsertBlock();
  BasicBlock* inside = BasicBlock::Create(context_, "loop", function);
  BasicBlock* after = BasicBlock::Create(context_, "after", function);
  if (is_known) {
    ir_.CreateBr(inside);
  } else {
    ir_.CreateCondBr(ir_.CreateICmpSLT(begin, end), inside, after);
  }
  ir_.SetInsertPoint(inside);
  llvm::PHINode* i = ir_.CreatePHI(index_type(), 2);
  i->addIncoming(begin, before);
  std::vector<llvm::PHINode*> phis;
  for (Value* value : carried) {
    phis.push_back(ir_.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
  }
  const IrValues next = body(i, IrValues(phis.begin(), phis.end()));
  Value* next_i = ir_.CreateNSWAdd(i, index(step));
  BasicBlock* latch = ir_.GetInsertBlock();
  ir_.CreateCondBr(ir_.CreateICmpSLT(next_i, end), inside, after);
  i->addIncoming(next_i, latch);
  for (size_t n = 0; n < phis.size(); ++n) phis[n]->addIncoming(next[n], latch);

  ir_.SetInsertPoint(after);
  if (is_known) return next;
  IrValues results;
  for (size_t n = 0; n < carried.size(); ++n) {
    llvm::PHINode* result = ir_.CreatePHI(carried[n]->getType(), 2);
    result->addIncoming(carried[n], before);
    result->addIncoming(next[n], latch);
    results.push_back(result);
  }
  return results;
}

void KernelBuilder::loop(Value* begin, Value* end, int64_t step,
                         const std::function<void(Value*)>& body) {
  loop(begin, end, step, {}, [&](Value* i, const IrValues&) {
    body(i);
    return IrValues{};
  });
}

void KernelBuilder::if_else(Value* condition, const std::function<void()>& then,
                            const std::function<void()>& otherwise) {
  llvm::Function* function = ir_.GetInsertBlock()->getParent();
  BasicBlock* yes = BasicBlock::Create(context_, "then", function);
  BasicBlock* no = BasicBlock::Create(context_, "else", function);
  BasicBlock* after = BasicBlock::Create(context_, "end", function);
  ir_.CreateCondBr(condition, yes, no);
  ir_.SetInsertPoint(yes);
  then();
  ir_.CreateBr(after);
  ir_.SetInsertPoint(no);
  otherwise();
  ir_.CreateBr(after);
  ir_.SetInsertPoint(after);
}

Value* KernelBuilder::stack(llvm::Type* type, int64_t count) {
  llvm::IRBuilderBase::InsertPointGuard guard(ir_);
  BasicBlock& entry = ir_.GetInsertBlock()->getParent()->getEntryBlock();
  ir_.SetInsertPoint(&entry, entry.getFirstInsertionPt());
  return ir_.CreateAlloca(type, index(count));
}

Result<GeneratedKernel> KernelBuilder::finish(const std::string& entry,
                                              const EmitOptions& options) {
  GeneratedKernel kernel;
  SLUICE_ASSIGN(kernel.object, emit_object(module_, profile_, options));
  kernel.entry = entry;
  return kernel;
}

}  // namespace sluice
