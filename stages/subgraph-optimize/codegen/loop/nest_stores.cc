// Elements in memory: their types, their addresses, and stores.
#include <algorithm>

#include "stages/subgraph-optimize/codegen/loop/nest_emitter.h"

namespace sluice {

using llvm::Value;
using loop::InstructionId;
using loop::InstructionKind;

namespace {

// Vectors of this many bytes have stores past the caches.
constexpr int kMinAligned = 32;
// A row of so many vectors, with so few instructions, is worth beginning with a part of one.
constexpr int64_t kLongRow = 16;
constexpr size_t kMostlyMoved = 4;

}  // namespace

llvm::Type* NestEmitter::memory_type(DType dtype) {
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
      return b_.ir().getInt16Ty();
    case DType::kBool:
      return b_.ir().getInt8Ty();
    default:
      return register_type(b_, loop::register_dtype(dtype));
  }
}

Value* NestEmitter::from_memory(DType dtype, Value* value) {
  if (dtype == DType::kF16) return scalar_.math().half_to_float(value);
  if (dtype == DType::kBF16) return scalar_.math().bfloat_to_float(value);
  if (dtype != DType::kBool) return value;
  return b_.ir().CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
}

Value* NestEmitter::to_memory(DType dtype, Value* value) {
  if (dtype == DType::kF16) return scalar_.math().float_to_half(value);
  if (dtype == DType::kBF16) return scalar_.math().float_to_bfloat(value);
  if (dtype != DType::kBool) return value;
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  llvm::Type* byte = b_.ir().getInt8Ty();
  return b_.ir().CreateZExt(
      value, vector == nullptr ? byte : llvm::FixedVectorType::get(byte, vector->getNumElements()));
}

llvm::Align alignment_of(DType dtype) {
  return llvm::Align(static_cast<uint64_t>(loop::access_bits(dtype)) / 8);
}

// The address of the element of the first lane. Row-local buffers of nests with lanes along an
// outer axis have an element for every lane.
Value* NestEmitter::address(const loop::Buffer& buffer, loop::BufferId id, ExpressionId offset,
                            int copy) {
  Value* base = buffers_[static_cast<size_t>(id)];
  llvm::Type* type = memory_type(buffer.dtype);
  if (has_rows_by_lane(buffer)) {
    Value* row = b_.mul(index_.number(offset), int64_t{piece_.lanes} * piece_.copies);
    return b_.ir().CreateGEP(type, base, b_.add(row, b_.index(int64_t{copy} * piece_.lanes)));
  }
  if (copy > 0 && differs_by_copy(offset)) {
    const auto linear = loop::split_linear(graph_.expressions, offset, copy_symbol_);
    if (linear && !differs_by_copy(linear->remainder)) {
      Value* first = b_.ir().CreateGEP(type, base, index_.number(offset));
      Value* stride = index_.number(linear->stride);
      return b_.ir().CreateGEP(type, first,
                               b_.mul(stride, piece_.is_tile ? copy : copy * piece_.lanes));
    }
  }
  return b_.ir().CreateGEP(type, base, expression_number(offset, copy));
}

// Memory of a row-local buffer that has room for all lanes of each vector. Stores through a mask
// would not be forwarded to the loads of the next sweep.
bool NestEmitter::has_whole_vectors(const loop::Buffer& buffer, ExpressionId offset) const {
  if (has_rows_by_lane(buffer)) return !differs(offset);
  const Expression& e = graph_.expressions[offset];
  const bool is_lane = e.op == ExpressionOp::kSymbol && e.value == lane_symbol_;
  return buffer.is_local && plan_.vector == NestPlan::Vector::kInner && is_lane &&
         piece_.lanes == plan_.lanes;
}

// The lanes' elements are neighbours.
bool NestEmitter::is_row(const loop::Buffer& buffer, ExpressionId offset) {
  if (has_rows_by_lane(buffer)) return !differs(offset);
  const auto linear = loop::split_linear(graph_.expressions, offset, lane_symbol_);
  return linear && !differs(linear->remainder) &&
         graph_.expressions.as_constant(linear->stride) == 1;
}

// One pointer for each lane.
Value* NestEmitter::addresses(const loop::Buffer& buffer, loop::BufferId id, ExpressionId offset,
                              int copy) {
  Value* at = expression_lanes(offset, copy);
  if (has_rows_by_lane(buffer)) {
    const auto index = [&](int64_t number) { return b_.broadcast(b_.index(number), piece_.lanes); };
    std::vector<llvm::Constant*> own;
    for (int64_t i = 0; i < piece_.lanes; ++i)
      own.push_back(b_.ir().getInt64(static_cast<uint64_t>(copy * piece_.lanes + i)));
    at = b_.ir().CreateSExt(at, llvm::FixedVectorType::get(b_.index_type(), piece_.lanes));
    at = b_.ir().CreateMul(at, index(int64_t{piece_.lanes} * piece_.copies));
    at = b_.ir().CreateAdd(at, llvm::ConstantVector::get(own));
  }
  return b_.ir().CreateGEP(memory_type(buffer.dtype), buffers_[static_cast<size_t>(id)], at);
}

void NestEmitter::emit_stores(size_t sweep) {
  const std::vector<loop::Store>& stores = flat_.nest.sweeps[sweep].stores;
  for (size_t i = 0; i < stores.size(); ++i) {
    const ExpressionId offset = flat_.stores[sweep][i];
    const bool is_local = graph_.buffers[static_cast<size_t>(stores[i].access.buffer)].is_local;
    if (store_past_caches(sweep, i)) continue;
    const std::vector<bool>& by_copy = piece_.is_tile ? by_tile_ : by_lane_;
    const bool all_copies =
        differs_by_copy(offset) || is_local || by_copy[static_cast<size_t>(stores[i].value)];
    for (int copy = 0; copy < (all_copies ? piece_.copies : 1); ++copy) {
      copy_in_hand_ = copy;
      const auto store = [&] { emit_store(stores[i], offset, copy); };
      // A store without lanes is slow where its page is not there.
      if (piece_.is_there.empty())
        store();
      else
        b_.if_else(piece_.is_there[static_cast<size_t>(copy)], store, [] {});
    }
    copy_in_hand_ = 0;
  }
}

// The bytes of a whole vector of neighbours that is stored to an operand. 0: the store is none.
int NestEmitter::stored_vector_bytes(size_t sweep, size_t number) {
  const loop::Store& store = flat_.nest.sweeps[sweep].stores[number];
  const loop::Buffer& buffer = graph_.buffers[static_cast<size_t>(store.access.buffer)];
  const ExpressionId offset = flat_.stores[sweep][number];
  if (buffer.is_local || piece_.mask != nullptr || piece_.lanes == 1) return 0;
  if (!piece_.masks.empty() || !store.guards.empty() || !is_row(buffer, offset)) return 0;
  return differs(offset) ? piece_.lanes * loop::access_bits(buffer.dtype) / 8 : 0;
}

// Whether the points of a long row begin where whole vectors can be stored with their alignment: a
// vector that is not aligned cannot go past the caches, and one of a line's length takes two lines.
bool NestEmitter::is_worth_aligning() {
  const loop::Sweep& sweep = flat_.nest.sweeps[0];
  const bool is_row = flat_.nest.sweeps.size() == 1 && sweep.axes.empty() &&
                      sweep.stores.size() == 1 && plan_.repeat_axis < 0;
  if (!is_row || stored_vector_bytes(0, 0) < kMinAligned) return false;
  const std::vector<bool> values(flat_.nest.instructions.size(), true);
  if (expression_differs(graph_, flat_.stores[0][0], {}, values)) return false;
  return nominal_number(graph_, axis(plan_.axis).extent) >= kLongRow * plan_.lanes &&
         (plan_.bypasses_caches || (has_masks() && flat_.nest.instructions.size() <= kMostlyMoved));
}

// Computes the points before the first one whose element has the alignment of vectors. Returns that
// one.
Value* NestEmitter::emit_until_aligned(Value* begin, Value* end,
                                       const std::function<void()>& point) {
  piece_ = {plan_.lanes, plan_.unroll};
  if (!is_worth_aligning()) return begin;
  const loop::Store& store = flat_.nest.sweeps[0].stores[0];
  const loop::Buffer& buffer = graph_.buffers[static_cast<size_t>(store.access.buffer)];
  const int bytes = stored_vector_bytes(0, 0);
  index_.set_axis(lane_symbol_, begin);
  Value* first = address(buffer, store.access.buffer, flat_.stores[0][0], 0);
  Value* behind = b_.ir().CreateNeg(b_.ir().CreatePtrToInt(first, b_.index_type()));
  behind = b_.div(b_.ir().CreateAnd(behind, b_.index(bytes - 1)), bytes / plan_.lanes);
  Value* aligned = b_.min(b_.add(begin, behind), end);
  const int lanes = masks_remainders() ? plan_.lanes : 1;
  b_.loop(begin, aligned, lanes, [&](Value* i) {
    index_.set_axis(lane_symbol_, i);
    piece_ = {lanes, 1};
    if (lanes > 1) piece_.mask = b_.mask(b_.sub(aligned, i), lanes);
    point();
  });
  return aligned;
}

// Whole vectors of an operand that this nest does not read, when their addresses are aligned.
// False: nothing was emitted.
bool NestEmitter::store_past_caches(size_t sweep, size_t number) {
  const loop::Store& store = flat_.nest.sweeps[sweep].stores[number];
  const int bytes = stored_vector_bytes(sweep, number);
  if (!plan_.bypasses_caches || bytes < kMinAligned || reads_buffer(store.access.buffer))
    return false;
  const loop::Buffer& buffer = graph_.buffers[static_cast<size_t>(store.access.buffer)];
  const ExpressionId offset = flat_.stores[sweep][number];
  llvm::IRBuilder<>& ir = b_.ir();
  IrValues to, stored;
  Value* bits = nullptr;
  for (int copy = 0; copy < piece_.copies; ++copy) {
    copy_in_hand_ = copy;
    to.push_back(address(buffer, store.access.buffer, offset, copy));
    stored.push_back(to_memory(buffer.dtype, widened(value(store.value, copy))));
    Value* number_of = ir.CreatePtrToInt(to.back(), b_.index_type());
    bits = bits == nullptr ? number_of : ir.CreateOr(bits, number_of);
  }
  copy_in_hand_ = 0;
  Value* is_aligned = ir.CreateICmpEQ(ir.CreateAnd(bits, b_.index(bytes - 1)), b_.index(0));
  const auto put = [&](bool past) {
    for (size_t copy = 0; copy < to.size(); ++copy) {
      const llvm::Align align =
          past ? llvm::Align(static_cast<uint64_t>(bytes)) : alignment_of(buffer.dtype);
      llvm::StoreInst* made = ir.CreateAlignedStore(stored[copy], to[copy], align);
      if (!past) continue;
      llvm::Metadata* one = llvm::ConstantAsMetadata::get(ir.getInt32(1));
      made->setMetadata(llvm::LLVMContext::MD_nontemporal,
                        llvm::MDNode::get(ir.getContext(), {one}));
    }
  };
  b_.if_else(is_aligned, [&] { put(true); }, [&] { put(false); });
  return true;
}

bool NestEmitter::reads_buffer(loop::BufferId buffer) const {
  return std::ranges::any_of(flat_.nest.instructions, [&](const loop::Instruction& own) {
    return own.kind == InstructionKind::kLoad && own.access.buffer == buffer;
  });
}

void NestEmitter::emit_store(const loop::Store& store, ExpressionId offset, int copy) {
  const loop::Buffer& buffer = graph_.buffers[static_cast<size_t>(store.access.buffer)];
  Value* stored = value(store.value, copy);
  const auto put = [&](Value* mask) {
    store_elements(buffer, store.access.buffer, offset, copy, stored, mask);
  };
  if (std::ranges::all_of(store.guards, [&](const loop::Guard& g) { return is_ignored(g); }))
    return put(present(copy));
  Value* condition = guard_condition(store.guards, copy);
  if (condition->getType()->isVectorTy()) return put(both(present(copy), condition));
  b_.if_else(condition, [&] { put(present(copy)); }, [] {});
}

void NestEmitter::store_elements(const loop::Buffer& buffer, loop::BufferId id, ExpressionId offset,
                                 int copy, Value* stored, Value* mask) {
  const llvm::Align align = alignment_of(buffer.dtype);
  const bool is_local = has_rows_by_lane(buffer);
  if (is_local ? piece_.lanes == 1 : !differs(offset)) {
    // Lanes that store to one place are the same point.
    if (stored->getType()->isVectorTy()) stored = b_.ir().CreateExtractElement(stored, uint64_t{0});
    b_.ir().CreateAlignedStore(to_memory(buffer.dtype, stored), address(buffer, id, offset, copy),
                               align);
    return;
  }
  Value* lanes = to_memory(buffer.dtype, widened(stored));
  if (mask == present(copy) && has_whole_vectors(buffer, offset)) mask = nullptr;
  if (is_row(buffer, offset)) {
    Value* to = address(buffer, id, offset, copy);
    if (mask == nullptr) {
      b_.ir().CreateAlignedStore(lanes, to, align);
    } else {
      b_.ir().CreateMaskedStore(lanes, to, align, widened(mask));
    }
    return;
  }
  Value* pointers = addresses(buffer, id, offset, copy);
  if (mask == nullptr)
    mask = llvm::Constant::getAllOnesValue(
        llvm::FixedVectorType::get(b_.ir().getInt1Ty(), static_cast<unsigned>(piece_.lanes)));
  b_.ir().CreateMaskedScatter(lanes, pointers, align, widened(mask));
}

}  // namespace sluice
