#include "stages/subgraph-optimize/codegen/loop/store_emitter.h"

#include <algorithm>

namespace sluice {

using llvm::Value;
using loop::InstructionKind;

namespace {

// Vectors of this many bytes have stores past the caches.
constexpr int kMinAligned = 32;
// A row of so many vectors, with so few instructions, is worth beginning with a part of one.
constexpr int64_t kLongRow = 16;
constexpr size_t kMostlyMoved = 4;

void mark_past_caches(llvm::StoreInst& store) {
  llvm::LLVMContext& context = store.getContext();
  llvm::Metadata* one =
      llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), 1));
  store.setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(context, {one}));
}

}  // namespace

StoreEmitter::OneStore StoreEmitter::store_of(size_t sweep, size_t number) const {
  const loop::Store& store = nest_.sweep(sweep).stores[number];
  return {store,
          {store.access.buffer, nest_.flat.stores[sweep][number]},
          nest_.buffer(store.access.buffer).dtype};
}

void StoreEmitter::emit(size_t sweep) {
  for (size_t i = 0; i < nest_.sweep(sweep).stores.size(); ++i) {
    const OneStore own = store_of(sweep, i);
    if (!store_past_caches(own)) emit_copies(own);
  }
}

void StoreEmitter::emit_copies(const OneStore& own) {
  const Piece& piece = values_.piece();
  const bool all_copies =
      values_.differs_by_copy(own.element.offset) || nest_.buffer(own.element.buffer).is_local;
  values_.each_copy(all_copies ? piece.copies : values_.copies_of(own.store.value), [&](int copy) {
    // A store without lanes is slow where its page is not there.
    if (piece.is_there.empty()) return emit_copy(own, copy);
    Value* is_there = piece.is_there[static_cast<size_t>(copy)];
    nest_.builder.if_else(is_there, [&] { emit_copy(own, copy); }, [] {});
  });
}

void StoreEmitter::emit_copy(const OneStore& own, int copy) {
  Value* stored = values_.value(own.store.value, copy);
  const auto put = [&](Value* mask) { store_elements(own, copy, stored, mask); };
  if (guards_.are_ignored(own.store.guards)) return put(values_.present(copy));
  Value* condition = guards_.condition(own.store.guards, copy);
  if (condition->getType()->isVectorTy())
    return put(values_.both(values_.present(copy), condition));
  nest_.builder.if_else(condition, [&] { put(values_.present(copy)); }, [] {});
}

// Stores the lanes of the mask (null: all).
void StoreEmitter::store_elements(const OneStore& own, int copy, Value* value, Value* mask) {
  if (!memory_.differs(own.element)) return store_one(own, copy, value);
  Value* lanes = memory_.to_memory(own.dtype, values_.widened(value));
  if (mask == values_.present(copy) && memory_.has_whole_vectors(own.element)) mask = nullptr;
  if (memory_.is_row(own.element)) return store_row(own, copy, lanes, mask);
  scatter(own, copy, lanes, mask);
}

// Lanes that store to one place are the same point.
void StoreEmitter::store_one(const OneStore& own, int copy, Value* value) {
  llvm::IRBuilder<>& ir = nest_.builder.ir();
  if (value->getType()->isVectorTy()) value = ir.CreateExtractElement(value, uint64_t{0});
  ir.CreateAlignedStore(memory_.to_memory(own.dtype, value), memory_.address(own.element, copy),
                        alignment_of(own.dtype));
}

void StoreEmitter::store_row(const OneStore& own, int copy, Value* lanes, Value* mask) {
  llvm::IRBuilder<>& ir = nest_.builder.ir();
  Value* to = memory_.address(own.element, copy);
  if (mask == nullptr) {
    ir.CreateAlignedStore(lanes, to, alignment_of(own.dtype));
  } else {
    ir.CreateMaskedStore(lanes, to, alignment_of(own.dtype), values_.widened(mask));
  }
}

void StoreEmitter::scatter(const OneStore& own, int copy, Value* lanes, Value* mask) {
  const int count = values_.piece().lanes;
  Value* pointers = memory_.addresses(own.element, copy);
  if (mask == nullptr) mask = nest_.builder.known_mask(count, count);
  nest_.builder.ir().CreateMaskedScatter(lanes, pointers, alignment_of(own.dtype),
                                         values_.widened(mask));
}

// The bytes of a whole vector of neighbours that is stored to an operand. 0: the store is none.
int StoreEmitter::whole_vector_bytes(const OneStore& own) {
  const Piece& piece = values_.piece();
  if (nest_.buffer(own.element.buffer).is_local || piece.mask != nullptr || piece.lanes == 1)
    return 0;
  if (!piece.masks.empty() || !own.store.guards.empty() || !memory_.is_row(own.element)) return 0;
  if (!values_.differs(own.element.offset)) return 0;
  return piece.lanes * loop::access_bits(own.dtype) / 8;
}

bool StoreEmitter::is_worth_aligning() {
  const loop::Nest& nest = nest_.flat.nest;
  const loop::Sweep& sweep = nest_.sweep(0);
  const bool is_row = nest.sweeps.size() == 1 && sweep.axes.empty() && sweep.stores.size() == 1 &&
                      nest_.plan.repeat_axis < 0;
  if (!is_row || whole_vector_bytes(store_of(0, 0)) < kMinAligned) return false;
  const std::vector<bool> values(nest.instructions.size(), true);
  if (expression_differs(nest_.graph, nest_.flat.stores[0][0], {}, values)) return false;
  const int64_t points = nominal_number(nest_.graph, nest_.axis(nest_.plan.axis).extent);
  return points >= kLongRow * nest_.plan.lanes &&
         (nest_.plan.bypasses_caches ||
          (nest_.has_masks() && nest.instructions.size() <= kMostlyMoved));
}

Value* StoreEmitter::first_aligned(Value* begin, Value* end) {
  KernelBuilder& b = nest_.builder;
  const OneStore own = store_of(0, 0);
  const int bytes = whole_vector_bytes(own);
  Value* first = memory_.address(own.element, 0);
  Value* behind = b.ir().CreateNeg(b.ir().CreatePtrToInt(first, b.index_type()));
  behind = b.div(b.ir().CreateAnd(behind, b.index(bytes - 1)), bytes / nest_.plan.lanes);
  return b.min(b.add(begin, behind), end);
}

// Whole vectors of an operand that this nest does not read, when their addresses are aligned.
// False: nothing was emitted.
bool StoreEmitter::store_past_caches(const OneStore& own) {
  const int bytes = whole_vector_bytes(own);
  if (!nest_.plan.bypasses_caches || bytes < kMinAligned || reads_buffer(own.element.buffer))
    return false;
  llvm::IRBuilder<>& ir = nest_.builder.ir();
  IrValues to, stored;
  Value* bits = nullptr;
  values_.each_copy(values_.piece().copies, [&](int copy) {
    to.push_back(memory_.address(own.element, copy));
    stored.push_back(
        memory_.to_memory(own.dtype, values_.widened(values_.value(own.store.value, copy))));
    Value* number_of = ir.CreatePtrToInt(to.back(), nest_.builder.index_type());
    bits = bits == nullptr ? number_of : ir.CreateOr(bits, number_of);
  });
  Value* is_aligned =
      ir.CreateICmpEQ(ir.CreateAnd(bits, nest_.builder.index(bytes - 1)), nest_.builder.index(0));
  const auto put = [&](llvm::Align align, bool past) {
    for (size_t copy = 0; copy < to.size(); ++copy) {
      llvm::StoreInst* made = ir.CreateAlignedStore(stored[copy], to[copy], align);
      if (past) mark_past_caches(*made);
    }
  };
  nest_.builder.if_else(
      is_aligned, [&] { put(llvm::Align(static_cast<uint64_t>(bytes)), true); },
      [&] { put(alignment_of(own.dtype), false); });
  return true;
}

bool StoreEmitter::reads_buffer(loop::BufferId buffer) const {
  return std::ranges::any_of(nest_.flat.nest.instructions, [&](const loop::Instruction& own) {
    return own.kind == InstructionKind::kLoad && own.access.buffer == buffer;
  });
}

}  // namespace sluice
