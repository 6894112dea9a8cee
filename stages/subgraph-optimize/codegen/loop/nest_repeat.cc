// An axis whose points share work is the innermost loop: what does not depend on it is computed
// once before. Where an image is resized, the places and weights of its columns serve all channels:
//
//   instructions and indices that do not depend on the axis
//   for the points of the axis: the other instructions; stores
//
// Gathered elements that lie close together, in all lanes, are a window: its neighbours are loaded
// as one vector and permuted.
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

#include "stages/subgraph-optimize/codegen/loop/nest_emitter.h"

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

void NestEmitter::emit_repeated_point(Value* begin, Value* end) {
  // Without points nothing is computed, not even faults.
  b_.if_else(b_.ir().CreateICmpSLT(begin, end), [&] { emit_repeated_points(begin, end); }, [] {});
}

void NestEmitter::emit_repeated_points(Value* begin, Value* end) {
  part_ = Part::kBefore;
  emit_instructions(0);
  Value* fits = find_windows();
  const auto loop = [&](bool uses_windows) {
    part_ = Part::kInside, uses_windows_ = uses_windows;
    b_.loop(begin, end, 1, [&](Value* i) {
      index_.set_axis(axis(plan_.repeat_axis).symbol, i);
      emit_instructions(0);
      emit_stores(0);
    });
    uses_windows_ = false;
  };
  if (fits == nullptr) {
    loop(false);
  } else {
    b_.if_else(fits, [&] { loop(true); }, [&] { loop(false); });
  }
  part_ = Part::kAll;
  shared_.clear();
}

// Computes what the loads of the loop share: guards, and indices along the lanes. Returns whether
// all windows are no longer than a register (null: there are none).
Value* NestEmitter::find_windows() {
  Value* fits = nullptr;
  for (const InstructionId id : flat_.nest.sweeps[0].instructions) {
    if (instruction(id).kind != InstructionKind::kLoad || !by_repeat_[static_cast<size_t>(id)])
      continue;
    for (int copy = 0; copy < (by_lane_[static_cast<size_t>(id)] ? piece_.copies : 1); ++copy) {
      copy_in_hand_ = copy;
      if (Value* fit = share_load(id, copy))
        fits = fits == nullptr ? fit : b_.ir().CreateAnd(fits, fit);
    }
  }
  copy_in_hand_ = 0;
  return fits;
}

// Returns whether the load's window fits (null: it has none).
Value* NestEmitter::share_load(InstructionId id, int copy) {
  const loop::Instruction& own = instruction(id);
  const loop::Buffer& buffer = graph_.buffers[static_cast<size_t>(own.access.buffer)];
  const ExpressionId offset = flat_.load_offsets[static_cast<size_t>(id)];
  const SymbolId repeated = axis(plan_.repeat_axis).symbol;
  const auto depends = [&](ExpressionId expression) {
    return expression_differs(graph_, expression, {repeated}, by_repeat_);
  };
  SharedLoad shared;
  const bool shares_guards = std::ranges::none_of(own.guards, [&](const loop::Guard& guard) {
    return depends(guard.value) || depends(guard.limit);
  });
  if (!own.guards.empty() && shares_guards) shared.condition = guard_condition(own.guards, copy);
  const auto linear = loop::split_linear(graph_.expressions, offset, repeated);
  Value* fits = nullptr;
  if (linear && differs(offset) && !is_row(buffer, offset) && !depends(linear->remainder) &&
      !differs(linear->stride)) {
    shared.stride = linear->stride;
    shared.index = expression_lanes(linear->remainder, copy);
    if (own.guards.empty() || shared.condition != nullptr)
      fits = find_window(shared, buffer, present(copy));
  }
  shared_[{id, copy}] = shared;
  return fits;
}

// Finds the window of a load whose indices are known, of the lanes of `there` (null: all). Returns
// whether it fits a register; null, and no window, where the profile cannot permute its elements.
Value* NestEmitter::find_window(SharedLoad& shared, const loop::Buffer& buffer, Value* there) {
  llvm::IRBuilder<>& ir = b_.ir();
  const Permutation* permutation =
      find_permutation(b_.profile(), piece_.lanes, dtype_bits(buffer.dtype));
  if (permutation == nullptr || shared.index->getType()->getScalarSizeInBits() != 32)
    return nullptr;
  Value* mask = shared.condition == nullptr ? there : both(there, widened(shared.condition));
  const auto extreme = [&](int32_t otherwise, bool is_max) {
    Value* other = b_.broadcast(ir.getInt32(static_cast<uint32_t>(otherwise)), piece_.lanes);
    Value* counted = mask == nullptr ? shared.index : ir.CreateSelect(mask, shared.index, other);
    Value* found =
        is_max ? ir.CreateIntMaxReduce(counted, true) : ir.CreateIntMinReduce(counted, true);
    return ir.CreateSExt(found, b_.index_type());
  };
  shared.low = extreme(INT32_MAX, false);
  Value* length = b_.add(b_.sub(extreme(INT32_MIN, true), shared.low), b_.index(1));
  shared.window = b_.mask(b_.max(length, b_.index(0)), piece_.lanes);
  Value* low = b_.broadcast(ir.CreateTrunc(shared.low, ir.getInt32Ty()), piece_.lanes);
  llvm::Type* element = ir.getIntNTy(static_cast<unsigned>(permutation->bits));
  shared.places = ir.CreateZExtOrTrunc(
      ir.CreateSub(shared.index, low),
      llvm::FixedVectorType::get(element, static_cast<unsigned>(piece_.lanes)));
  return ir.CreateICmpSLE(length, b_.index(piece_.lanes));
}

const NestEmitter::SharedLoad* NestEmitter::shared_load(InstructionId id, int copy) const {
  if (part_ != Part::kInside) return nullptr;
  const auto found = shared_.find({id, copy});
  return found == shared_.end() ? nullptr : &found->second;
}

// Loads elements whose places in the window, or whose indices, are known.
Value* NestEmitter::load_shared(const SharedLoad& shared, const loop::Access& access, Value* mask) {
  llvm::IRBuilder<>& ir = b_.ir();
  const loop::Buffer& buffer = graph_.buffers[static_cast<size_t>(access.buffer)];
  const llvm::Align align = alignment_of(buffer.dtype);
  llvm::Type* type = memory_type(buffer.dtype);
  auto* vector = llvm::FixedVectorType::get(type, static_cast<unsigned>(piece_.lanes));
  Value* first = b_.mul(index_.number(shared.stride), index_.axis(axis(plan_.repeat_axis).symbol));
  Value* base = buffers_[static_cast<size_t>(access.buffer)];
  if (!uses_windows_ || shared.window == nullptr) {
    Value* from = ir.CreateGEP(type, ir.CreateGEP(type, base, first), shared.index);
    if (mask == nullptr) mask = b_.known_mask(piece_.lanes, piece_.lanes);
    return from_memory(buffer.dtype, ir.CreateMaskedGather(vector, from, align, widened(mask),
                                                           llvm::Constant::getNullValue(vector)));
  }
  Value* window = ir.CreateMaskedLoad(vector, ir.CreateGEP(type, base, b_.add(first, shared.low)),
                                      align, shared.window, llvm::Constant::getNullValue(vector));
  const Permutation& permutation =
      *find_permutation(b_.profile(), piece_.lanes, dtype_bits(buffer.dtype));
  llvm::Type* element = type;
  if (permutation.bits == 32 && permutation.is_float) element = ir.getFloatTy();
  if (permutation.bits == 64) element = ir.getDoubleTy();
  auto* operand = llvm::FixedVectorType::get(element, static_cast<unsigned>(piece_.lanes));
  Value* permuted =
      ir.CreateIntrinsic(permutation.id, {}, {ir.CreateBitCast(window, operand), shared.places});
  return from_memory(buffer.dtype, ir.CreateBitCast(permuted, vector));
}

}  // namespace sluice
