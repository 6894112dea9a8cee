#include "stages/subgraph-optimize/codegen/loop/shared_loads.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

namespace sluice {

using llvm::Value;
using loop::InstructionId;
using loop::InstructionKind;

namespace {

// Permutes one register by indices of the elements' width: result[i] = x[index[i]].
struct Permutation {
  int lanes;
  int bits;
  llvm::Intrinsic::ID id;
  bool is_float;
  bool needs_avx512;
};
constexpr Permutation kPermutations[] = {
    {16, 32, llvm::Intrinsic::x86_avx512_permvar_sf_512, true, true},
    {8, 32, llvm::Intrinsic::x86_avx2_permps, true, false},
    {8, 64, llvm::Intrinsic::x86_avx512_permvar_df_512, true, true},
    {32, 16, llvm::Intrinsic::x86_avx512_permvar_hi_512, false, true},
    {16, 16, llvm::Intrinsic::x86_avx512_permvar_hi_256, false, true},
};

const Permutation* find_permutation(const DeviceProfile& profile, int lanes, int bits) {
  if (profile.vector_bits < 256) return nullptr;
  for (const Permutation& row : kPermutations) {
    if (row.lanes != lanes || row.bits != bits) continue;
    if (!row.needs_avx512 || profile.isa.starts_with("avx512")) return &row;
  }
  return nullptr;
}

}  // namespace

SharedLoads::SharedLoads(const PlannedNest& nest, PieceValues& values, GuardEmitter& guards,
                         MemoryElements& memory)
    : nest_(nest), values_(values), guards_(guards), memory_(memory) {
  if (nest.plan.repeat_axis < 0) return;
  repeated_ = nest.axis(nest.plan.repeat_axis).symbol;
  by_repeat_ = differing_instructions(nest.graph, nest.flat, {repeated_}, false);
}

Value* SharedLoads::prepare() {
  Value* fits = nullptr;
  for (const InstructionId id : nest_.sweep(0).instructions) {
    if (nest_.instruction(id).kind != InstructionKind::kLoad) continue;
    if (!by_repeat_[static_cast<size_t>(id)]) continue;
    values_.each_copy(values_.copies_of(id), [&](int copy) {
      if (Value* fit = share(id, copy))
        fits = fits == nullptr ? fit : nest_.builder.ir().CreateAnd(fits, fit);
    });
  }
  return fits;
}

bool SharedLoads::depends(ExpressionId id) const {
  return expression_differs(nest_.graph, id, {repeated_}, by_repeat_);
}

// Returns whether the load's window fits (null: it has none).
Value* SharedLoads::share(InstructionId id, int copy) {
  const loop::Instruction& own = nest_.instruction(id);
  const Element element{own.access.buffer, nest_.flat.load_offsets[static_cast<size_t>(id)]};
  SharedLoad shared;
  shared.condition = shared_condition(own.guards, copy);
  const auto linear = loop::split_linear(nest_.graph.expressions, element.offset, repeated_);
  Value* fits = nullptr;
  if (linear && values_.differs(element.offset) && !memory_.is_row(element) &&
      !depends(linear->remainder) && !values_.differs(linear->stride)) {
    shared.stride = linear->stride;
    shared.index = values_.lanes(linear->remainder, copy);
    if (own.guards.empty() || shared.condition != nullptr)
      fits = find_window(shared, nest_.buffer(element.buffer).dtype, values_.present(copy));
  }
  shared_[{id, copy}] = shared;
  return fits;
}

Value* SharedLoads::shared_condition(const std::vector<loop::Guard>& guards, int copy) {
  const bool differ = std::ranges::any_of(guards, [&](const loop::Guard& guard) {
    return depends(guard.value) || depends(guard.limit);
  });
  return guards.empty() || differ ? nullptr : guards_.condition(guards, copy);
}

// Finds the window of a load whose indices are known, of the lanes of `there` (null: all). Returns
// whether it fits a register; null, and no window, where the profile cannot permute its elements.
Value* SharedLoads::find_window(SharedLoad& shared, DType dtype, Value* there) {
  KernelBuilder& b = nest_.builder;
  llvm::IRBuilder<>& ir = b.ir();
  const int lanes = values_.piece().lanes;
  const Permutation* permutation = find_permutation(b.profile(), lanes, dtype_bits(dtype));
  if (permutation == nullptr || shared.index->getType()->getScalarSizeInBits() != 32)
    return nullptr;
  Value* mask =
      shared.condition == nullptr ? there : values_.both(there, values_.widened(shared.condition));
  shared.low = extreme_index(shared.index, mask, false);
  Value* length = b.add(b.sub(extreme_index(shared.index, mask, true), shared.low), b.index(1));
  shared.window = b.mask(b.max(length, b.index(0)), lanes);
  Value* low = b.broadcast(ir.CreateTrunc(shared.low, ir.getInt32Ty()), lanes);
  llvm::Type* element = ir.getIntNTy(static_cast<unsigned>(permutation->bits));
  shared.places =
      ir.CreateZExtOrTrunc(ir.CreateSub(shared.index, low),
                           llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes)));
  return ir.CreateICmpSLE(length, b.index(lanes));
}

// The least or largest index of the lanes of the mask (null: all).
Value* SharedLoads::extreme_index(Value* index, Value* mask, bool is_max) {
  llvm::IRBuilder<>& ir = nest_.builder.ir();
  const int32_t otherwise = is_max ? INT32_MIN : INT32_MAX;
  Value* other =
      nest_.builder.broadcast(ir.getInt32(static_cast<uint32_t>(otherwise)), values_.piece().lanes);
  Value* counted = mask == nullptr ? index : ir.CreateSelect(mask, index, other);
  Value* found =
      is_max ? ir.CreateIntMaxReduce(counted, true) : ir.CreateIntMinReduce(counted, true);
  return ir.CreateSExt(found, nest_.builder.index_type());
}

const SharedLoad* SharedLoads::find(InstructionId id, int copy) const {
  const auto found = shared_.find({id, copy});
  return found == shared_.end() ? nullptr : &found->second;
}

Value* SharedLoads::load(const SharedLoad& shared, loop::BufferId buffer, Value* mask) {
  KernelBuilder& b = nest_.builder;
  llvm::IRBuilder<>& ir = b.ir();
  const DType dtype = nest_.buffer(buffer).dtype;
  const int lanes = values_.piece().lanes;
  llvm::Type* type = memory_.type(dtype);
  auto* vector = memory_.vector_type(dtype);
  Value* first = b.mul(values_.number(shared.stride), values_.axis(repeated_));
  if (!uses_windows_ || shared.window == nullptr) return gather(shared, buffer, first, mask);
  Value* from = ir.CreateGEP(type, memory_.base(buffer), b.add(first, shared.low));
  Value* window = ir.CreateMaskedLoad(vector, from, alignment_of(dtype), shared.window,
                                      llvm::Constant::getNullValue(vector));
  const Permutation& permutation = *find_permutation(b.profile(), lanes, dtype_bits(dtype));
  llvm::Type* element = type;
  if (permutation.bits == 32 && permutation.is_float) element = ir.getFloatTy();
  if (permutation.bits == 64) element = ir.getDoubleTy();
  auto* operand = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
  Value* permuted =
      ir.CreateIntrinsic(permutation.id, {}, {ir.CreateBitCast(window, operand), shared.places});
  return memory_.from_memory(dtype, ir.CreateBitCast(permuted, vector));
}

// Loads the elements at the indices from the buffer's element `first` on.
Value* SharedLoads::gather(const SharedLoad& shared, loop::BufferId buffer, Value* first,
                           Value* mask) {
  llvm::IRBuilder<>& ir = nest_.builder.ir();
  const DType dtype = nest_.buffer(buffer).dtype;
  const int lanes = values_.piece().lanes;
  llvm::Type* type = memory_.type(dtype);
  auto* vector = memory_.vector_type(dtype);
  Value* from = ir.CreateGEP(type, ir.CreateGEP(type, memory_.base(buffer), first), shared.index);
  if (mask == nullptr) mask = nest_.builder.known_mask(lanes, lanes);
  return memory_.from_memory(
      dtype, ir.CreateMaskedGather(vector, from, alignment_of(dtype), values_.widened(mask),
                                   llvm::Constant::getNullValue(vector)));
}

}  // namespace sluice
