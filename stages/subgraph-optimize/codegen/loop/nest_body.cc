// The instructions and stores of a sweep, for all copies and lanes of the piece at hand.
#include <bit>

#include "stages/subgraph-optimize/codegen/loop/nest_emitter.h"
#include "stages/subgraph-optimize/codegen/register_transpose.h"

namespace sluice {

using llvm::Value;
using loop::InstructionId;
using loop::InstructionKind;

Value* NestEmitter::value(InstructionId id, int copy) {
  const IrValues& own = values_[static_cast<size_t>(id)];
  return own.size() == 1 ? own[0] : own[static_cast<size_t>(copy)];
}

Value* NestEmitter::both(Value* a, Value* b) {
  if (a == nullptr) return b;
  return b == nullptr ? a : b_.ir().CreateAnd(widened(a), widened(b));
}

bool NestEmitter::differs(ExpressionId id) const {
  return piece_.lanes > 1 && lane_symbol_ >= 0 &&
         expression_differs(graph_, id, {lane_symbol_}, by_lane_);
}

bool NestEmitter::differs_by_copy(ExpressionId id) const {
  return piece_.copies > 1 &&
         expression_differs(graph_, id, {copy_symbol_}, piece_.is_tile ? by_tile_ : by_lane_);
}

// Instructions are computed for all copies before the next one, so that vectors side by side hide
// each other's latencies.
void NestEmitter::emit_instructions(size_t sweep) {
  for (const InstructionId id : flat_.nest.sweeps[sweep].instructions) {
    const auto i = static_cast<size_t>(id);
    if (piece_.is_tile && load_tile(id)) continue;
    const std::vector<bool>& by_copy = piece_.is_tile ? by_tile_ : by_lane_;
    const int copies = by_copy[i] ? piece_.copies : 1;
    values_[i].clear();
    for (int copy = 0; copy < copies; ++copy) {
      copy_in_hand_ = copy;
      scalar_.set_active(present(copy));
      Value* made = emit_instruction(id, copy);
      values_[i].push_back(made);
    }
    copy_in_hand_ = 0;
  }
}

Value* NestEmitter::emit_instruction(InstructionId id, int copy) {
  const loop::Instruction& own = instruction(id);
  switch (own.kind) {
    case InstructionKind::kConstant:
      return scalar_constant(b_, own.dtype, own.bits);
    case InstructionKind::kIndex: {
      if (!differs(own.index)) return expression_number(own.index, copy);
      llvm::Type* type = llvm::FixedVectorType::get(b_.index_type(), piece_.lanes);
      return b_.ir().CreateSExt(expression_lanes(own.index, copy), type);
    }
    case InstructionKind::kLoad:
      return emit_load(id, copy);
    case InstructionKind::kTest:
      return guard_condition(own.guards, copy);
    case InstructionKind::kScalar:
      return emit_scalar(own, copy);
    case InstructionKind::kAccumulator:
    case InstructionKind::kPosition: {
      const Carried& from = accumulators_[static_cast<size_t>(own.accumulator)];
      const IrValues& list = own.kind == InstructionKind::kPosition ? from.position : from.value;
      return list.size() == 1 ? list[0] : list[static_cast<size_t>(copy)];
    }
  }
  return nullptr;
}

Value* NestEmitter::emit_scalar(const loop::Instruction& own, int copy) {
  IrValues operands;
  bool any_lanes = false;
  for (int i = 0; i < loop::scalar_row(own.op).operands; ++i) {
    operands.push_back(value(own.operands[static_cast<size_t>(i)], copy));
    any_lanes = any_lanes || operands.back()->getType()->isVectorTy();
  }
  if (any_lanes) {
    for (Value*& operand : operands) operand = widened(operand);
  }
  const InstructionId first = own.operands[own.op == loop::ScalarOp::kSelect ? 1 : 0];
  if (own.op == loop::ScalarOp::kCast && dtype_is_integer(own.dtype) && is_within_i32(first))
    return scalar_.truncate_within_i32(operands[0], own.dtype);
  return scalar_.emit(own.op, instruction(first).dtype, own.dtype, operands);
}

// Reals that are known to be no NaN, and whose integers fit i32.
bool NestEmitter::is_within_i32(InstructionId id) const {
  const loop::RealRange& range = ranges_[static_cast<size_t>(id)];
  return dtype_is_float(instruction(id).dtype) && !range.may_be_nan && range.low >= -0x1p31 &&
         range.high < 0x1p31;
}

// ---- expressions

// The value for a copy: the axis of copies counts on from its present value.
Value* NestEmitter::expression_number(ExpressionId id, int copy) {
  if (copy == 0 || !differs_by_copy(id)) return index_.number(id);
  Value* first = index_.axis(copy_symbol_);
  index_.set_axis(copy_symbol_,
                  b_.add(first, b_.index(piece_.is_tile ? copy : copy * piece_.lanes)));
  Value* number = index_.number(id);
  index_.set_axis(copy_symbol_, first);
  return number;
}

Value* NestEmitter::expression_lanes(ExpressionId id, int copy) {
  Value* first = copy_symbol_ < 0 ? nullptr : index_.axis(copy_symbol_);
  if (copy > 0)
    index_.set_axis(copy_symbol_,
                    b_.add(first, b_.index(piece_.is_tile ? copy : copy * piece_.lanes)));
  Value* lanes = index_.lanes(id, lane_symbol_, piece_.lanes);
  if (copy > 0) index_.set_axis(copy_symbol_, first);
  return lanes;
}

// All guards hold: one bool, or one for each lane.
Value* NestEmitter::guard_condition(const std::vector<loop::Guard>& guards, int copy) {
  if (ignores_guards_) return b_.ir().getInt1(true);
  Value* condition = nullptr;
  for (const loop::Guard& guard : guards) {
    Value* holds = nullptr;
    if (differs(guard.value) || differs(guard.limit)) {
      llvm::Type* type = llvm::FixedVectorType::get(b_.index_type(), piece_.lanes);
      Value* at = b_.ir().CreateSExt(expression_lanes(guard.value, copy), type);
      holds =
          b_.ir().CreateICmpULT(at, b_.ir().CreateSExt(expression_lanes(guard.limit, copy), type));
    } else {
      holds = b_.ir().CreateICmpULT(expression_number(guard.value, copy),
                                    expression_number(guard.limit, copy));
    }
    condition = condition == nullptr ? holds
                : holds->getType() == condition->getType()
                    ? b_.ir().CreateAnd(condition, holds)
                    : b_.ir().CreateAnd(widened(condition), widened(holds));
  }
  return condition == nullptr ? b_.ir().getInt1(true) : condition;
}

// ---- memory

llvm::Type* NestEmitter::memory_type(DType dtype) {
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
      return b_.ir().getInt16Ty();
    case DType::kBool:
      return b_.ir().getInt8Ty();
    default:
      return register_type(b_, dtype);
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

namespace {

llvm::Align alignment_of(DType dtype) {
  return llvm::Align(static_cast<uint64_t>(std::max(dtype_bits(dtype) / 8, 1)));
}

}  // namespace

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

// Computes `value` only where the condition holds, by a branch.
Value* NestEmitter::under(Value* condition, const std::function<Value*()>& value,
                          Value* otherwise) {
  Value* made = nullptr;
  llvm::BasicBlock *yes = nullptr, *no = nullptr;
  b_.if_else(
      condition,
      [&] {
        made = value();
        yes = b_.ir().GetInsertBlock();
      },
      [&] { no = b_.ir().GetInsertBlock(); });
  const auto widened_in = [&](llvm::BasicBlock* block, Value* number) {
    llvm::IRBuilderBase::InsertPointGuard guard(b_.ir());
    b_.ir().SetInsertPoint(block->getTerminator());
    return widened(number);
  };
  if (made->getType() != otherwise->getType()) {
    made = widened_in(yes, made);
    otherwise = widened_in(no, otherwise);
  }
  llvm::PHINode* phi = b_.ir().CreatePHI(made->getType(), 2);
  phi->addIncoming(made, yes);
  phi->addIncoming(otherwise, no);
  return phi;
}

Value* NestEmitter::emit_load(InstructionId id, int copy) {
  const loop::Instruction& own = instruction(id);
  const loop::Buffer& buffer = graph_.buffers[static_cast<size_t>(own.access.buffer)];
  const ExpressionId offset = flat_.load_offsets[static_cast<size_t>(id)];
  if (own.guards.empty() || ignores_guards_)
    return load_elements(buffer, own.access.buffer, offset, copy, present(copy));
  Value* condition = guard_condition(own.guards, copy);
  Value* otherwise = value(own.operands[0], copy);
  if (!condition->getType()->isVectorTy()) {
    return under(
        condition,
        [&] { return load_elements(buffer, own.access.buffer, offset, copy, present(copy)); },
        otherwise);
  }
  Value* loaded =
      load_elements(buffer, own.access.buffer, offset, copy, both(present(copy), condition));
  return b_.ir().CreateSelect(condition, widened(loaded), widened(otherwise));
}

// Loads the lanes of the mask (null: all).
Value* NestEmitter::load_elements(const loop::Buffer& buffer, loop::BufferId id,
                                  ExpressionId offset, int copy, Value* mask) {
  llvm::Type* type = memory_type(buffer.dtype);
  const llvm::Align align = alignment_of(buffer.dtype);
  const bool is_local = has_rows_by_lane(buffer);
  const bool has_lanes = is_local ? piece_.lanes > 1 : differs(offset);
  if (!has_lanes) {
    const auto load = [&] {
      return from_memory(buffer.dtype,
                         b_.ir().CreateAlignedLoad(type, address(buffer, id, offset, copy), align));
    };
    if (mask == nullptr || mask == present(copy)) return load();
    Value* any = b_.ir().CreateOrReduce(mask);
    return under(
        any, load,
        llvm::Constant::getNullValue(register_type(b_, loop::register_dtype(buffer.dtype))));
  }
  auto* vector = llvm::FixedVectorType::get(type, static_cast<unsigned>(piece_.lanes));
  if (is_row(buffer, offset)) {
    Value* from = address(buffer, id, offset, copy);
    Value* loaded = mask == nullptr
                        ? static_cast<Value*>(b_.ir().CreateAlignedLoad(vector, from, align))
                        : b_.ir().CreateMaskedLoad(vector, from, align, mask,
                                                   llvm::Constant::getNullValue(vector));
    return from_memory(buffer.dtype, loaded);
  }
  if (Value* loaded = is_local ? nullptr : load_pattern(buffer, id, offset, copy, mask))
    return from_memory(buffer.dtype, loaded);
  Value* pointers = addresses(buffer, id, offset, copy);
  if (mask == nullptr)
    mask = llvm::Constant::getAllOnesValue(
        llvm::FixedVectorType::get(b_.ir().getInt1Ty(), static_cast<unsigned>(piece_.lanes)));
  return from_memory(buffer.dtype,
                     b_.ir().CreateMaskedGather(vector, pointers, align, mask,
                                                llvm::Constant::getNullValue(vector)));
}

// Elements at a small stride, or each several times, when all lanes are there: loaded as neighbours
// and shuffled. Null: they lie otherwise.
Value* NestEmitter::load_pattern(const loop::Buffer& buffer, loop::BufferId id, ExpressionId offset,
                                 int copy, Value* mask) {
  if (mask != nullptr || (!has_masks() && dtype_bits(buffer.dtype) < 32)) return nullptr;
  llvm::Type* type = memory_type(buffer.dtype);
  const llvm::Align align = alignment_of(buffer.dtype);
  const auto linear = loop::split_linear(graph_.expressions, offset, lane_symbol_);
  if (!linear) {
    const int64_t times = repeated_times(offset);
    return times == 1 ? nullptr
                      : load_repeated(type, address(buffer, id, offset, copy), times, align);
  }
  const auto stride = graph_.expressions.as_constant(linear->stride);
  if (differs(linear->remainder) || !stride || *stride < 2 || *stride > 4) return nullptr;
  return load_strided(type, address(buffer, id, offset, copy), *stride, align);
}

// Every `stride`-th element: the vectors that contain them, and nothing after the last one, are
// loaded and shuffled.
Value* NestEmitter::load_strided(llvm::Type* type, Value* from, int64_t stride, llvm::Align align) {
  const auto lanes = static_cast<int64_t>(piece_.lanes);
  auto* wide = llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes * stride));
  std::vector<int> picked;
  std::vector<llvm::Constant*> is_read;
  for (int64_t i = 0; i < lanes; ++i) picked.push_back(static_cast<int>(i * stride));
  for (int64_t i = 0; i < lanes * stride; ++i)
    is_read.push_back(b_.ir().getInt1(i <= (lanes - 1) * stride));
  Value* loaded = b_.ir().CreateMaskedLoad(wide, from, align, llvm::ConstantVector::get(is_read),
                                           llvm::Constant::getNullValue(wide));
  return b_.ir().CreateShuffleVector(loaded, picked);
}

// Neighbours that are each repeated `times` times.
Value* NestEmitter::load_repeated(llvm::Type* type, Value* from, int64_t times, llvm::Align align) {
  const auto lanes = static_cast<int64_t>(piece_.lanes);
  Value* loaded = b_.ir().CreateAlignedLoad(
      llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes / times)), from, align);
  std::vector<int> picked;
  for (int64_t i = 0; i < lanes; ++i) picked.push_back(static_cast<int>(i / times));
  return b_.ir().CreateShuffleVector(loaded, picked);
}

// How often each element of a contiguous run is repeated along the lanes, as where an image is
// enlarged: the offset grows by one with floordiv(lane axis, times) and with nothing else. 1: it is
// not of that form. Pieces begin at multiples of the number of lanes.
int64_t NestEmitter::repeated_times(ExpressionId offset) {
  const auto [found, inserted] = repeated_.try_emplace(offset, 1);
  if (!inserted || expression_differs(graph_, offset, {}, by_lane_)) return found->second;
  ExpressionTable& table = graph_.expressions;
  const auto add_symbol = [&](int64_t high) {
    Symbol symbol;
    symbol.name = fmt::format("r{}", graph_.symbols.size());
    symbol.low = 0, symbol.high = high;
    graph_.symbols.push_back({loop::SymbolRole::kAxis, -1, -1});
    return table.add_symbol(std::move(symbol));
  };
  for (const int64_t times : {2, 4, 8}) {
    if (piece_.lanes % times != 0) continue;
    const SymbolId quotient = add_symbol(INT32_MAX), remainder = add_symbol(times - 1);
    std::vector<ExpressionId> replacement(table.symbol_count(), -1);
    replacement[static_cast<size_t>(lane_symbol_)] =
        table.add(table.multiply(table.constant(times), table.symbol_expression(quotient)),
                  table.symbol_expression(remainder));
    const ExpressionId split = table.substitute(offset, replacement);
    const auto linear = loop::split_linear(table, split, quotient);
    if (linear && table.as_constant(linear->stride) == 1 &&
        !loop::mentions(table, linear->remainder, remainder))
      return repeated_[offset] = times;
  }
  return 1;
}

// A square of elements that are neighbours along the tile axis: one vector for each lane's row,
// transposed in registers.
bool NestEmitter::load_tile(InstructionId id) {
  const loop::Instruction& own = instruction(id);
  if (own.kind != InstructionKind::kLoad || !own.guards.empty()) return false;
  const ExpressionId offset = flat_.load_offsets[static_cast<size_t>(id)];
  const auto along = loop::split_linear(graph_.expressions, offset, copy_symbol_);
  const auto across = loop::split_linear(graph_.expressions, offset, lane_symbol_);
  if (!along || !across || graph_.expressions.as_constant(along->stride) != 1 ||
      graph_.expressions.as_constant(across->stride) == 0 ||
      loop::mentions(graph_.expressions, across->stride, copy_symbol_) ||
      expression_differs(graph_, offset, {}, by_lane_))
    return false;
  const loop::Buffer& buffer = graph_.buffers[static_cast<size_t>(own.access.buffer)];
  llvm::Type* type = memory_type(buffer.dtype);
  auto* vector = llvm::FixedVectorType::get(type, static_cast<unsigned>(piece_.lanes));
  Value* first = b_.ir().CreateGEP(type, buffers_[static_cast<size_t>(own.access.buffer)],
                                   index_.number(offset));
  Value* stride = index_.number(across->stride);
  IrValues rows;
  for (int lane = 0; lane < piece_.lanes; ++lane) {
    rows.push_back(b_.ir().CreateAlignedLoad(
        vector, b_.ir().CreateGEP(type, first, b_.mul(stride, lane)), alignment_of(buffer.dtype)));
  }
  transpose_in_registers(b_, rows);
  for (Value*& row : rows) row = from_memory(buffer.dtype, row);
  values_[static_cast<size_t>(id)] = std::move(rows);
  return true;
}

void NestEmitter::emit_stores(size_t sweep) {
  const std::vector<loop::Store>& stores = flat_.nest.sweeps[sweep].stores;
  for (size_t i = 0; i < stores.size(); ++i) {
    const ExpressionId offset = flat_.stores[sweep][i];
    const bool is_local = graph_.buffers[static_cast<size_t>(stores[i].access.buffer)].is_local;
    const std::vector<bool>& by_copy = piece_.is_tile ? by_tile_ : by_lane_;
    const bool all_copies =
        differs_by_copy(offset) || is_local || by_copy[static_cast<size_t>(stores[i].value)];
    for (int copy = 0; copy < (all_copies ? piece_.copies : 1); ++copy) {
      copy_in_hand_ = copy;
      emit_store(stores[i], offset, copy);
    }
    copy_in_hand_ = 0;
  }
}

void NestEmitter::emit_store(const loop::Store& store, ExpressionId offset, int copy) {
  const loop::Buffer& buffer = graph_.buffers[static_cast<size_t>(store.access.buffer)];
  Value* stored = value(store.value, copy);
  const auto put = [&](Value* mask) {
    store_elements(buffer, store.access.buffer, offset, copy, stored, mask);
  };
  if (store.guards.empty() || ignores_guards_) return put(present(copy));
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
