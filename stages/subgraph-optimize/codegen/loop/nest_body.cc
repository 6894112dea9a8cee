// The instructions and stores of a sweep, for all copies and lanes of the piece at hand.
#include <algorithm>
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
    if (part_ != Part::kAll && by_repeat_[i] != (part_ == Part::kInside)) continue;
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
      return emit_constant(own);
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

Value* NestEmitter::emit_constant(const loop::Instruction& own) {
  if (own.dtype == DType::kF64)
    return llvm::ConstantFP::get(b_.ir().getDoubleTy(), std::bit_cast<double>(own.bits));
  if (own.dtype == DType::kF32) {
    return llvm::ConstantFP::get(b_.float_type(),
                                 std::bit_cast<float>(static_cast<uint32_t>(own.bits)));
  }
  return llvm::ConstantInt::get(register_type(b_, own.dtype), own.bits);
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
  Value* condition = nullptr;
  for (const loop::Guard& guard : guards) {
    if (is_ignored(guard)) continue;
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
  const SharedLoad* shared = shared_load(id, copy);
  const auto load = [&](Value* mask) {
    return shared != nullptr && shared->stride >= 0
               ? load_shared(*shared, own.access, mask)
               : load_elements(buffer, own.access.buffer, offset, copy, mask);
  };
  if (std::ranges::all_of(own.guards, [&](const loop::Guard& g) { return is_ignored(g); }))
    return load(present(copy));
  if (Value* loaded = load_guarded(id, copy)) return loaded;
  Value* condition = shared != nullptr && shared->condition != nullptr
                         ? shared->condition
                         : guard_condition(own.guards, copy);
  Value* otherwise = value(own.operands[0], copy);
  if (!condition->getType()->isVectorTy())
    return under(condition, [&] { return load(present(copy)); }, otherwise);
  Value* loaded = load(both(present(copy), condition));
  return b_.ir().CreateSelect(condition, widened(loaded), widened(otherwise));
}

// Elements at a small stride whose guards move along the lanes by the same stride, as at the edges
// of a padded image: one mask over the neighbours, which are loaded and shuffled. Null: they lie
// otherwise.
Value* NestEmitter::load_guarded(InstructionId id, int copy) {
  const loop::Instruction& own = instruction(id);
  const loop::Buffer& buffer = graph_.buffers[static_cast<size_t>(own.access.buffer)];
  if (!has_masks() || piece_.is_tile || piece_.lanes == 1 || buffer.is_local) return nullptr;
  if (buffer.dtype != loop::register_dtype(buffer.dtype) || buffer.dtype == DType::kBool)
    return nullptr;
  ExpressionTable& table = graph_.expressions;
  const ExpressionId offset = flat_.load_offsets[static_cast<size_t>(id)];
  const auto linear = loop::split_linear(table, offset, lane_symbol_);
  const auto stride = linear ? table.as_constant(linear->stride) : std::optional<int64_t>();
  if (!stride || *stride < 1 || *stride > 4 || differs(linear->remainder)) return nullptr;
  Value* otherwise = value(own.operands[0], copy);
  if (otherwise->getType()->isVectorTy()) return nullptr;

  const auto wide = static_cast<int>(piece_.lanes * *stride);
  const int used = wide - static_cast<int>(*stride) + 1;  // nothing is read after the last lane
  Value* mask = b_.known_mask(used, wide);
  for (const loop::Guard& guard : own.guards) {
    if (is_ignored(guard)) continue;
    const auto along = loop::split_linear(table, guard.value, lane_symbol_);
    if (!along || differs(along->remainder) || differs(guard.limit)) return nullptr;
    Value* holds = nullptr;
    if (table.as_constant(along->stride) == 0) {
      holds = b_.broadcast(b_.ir().CreateICmpULT(expression_number(guard.value, copy),
                                                 expression_number(guard.limit, copy)),
                           wide);
    } else if (table.as_constant(along->stride) == stride) {
      holds = neighbours_below(guard, copy, wide);
    }
    if (holds == nullptr) return nullptr;
    mask = b_.ir().CreateAnd(mask, holds);
  }
  if (Value* there = present(copy)) mask = b_.ir().CreateAnd(mask, spread_mask(there, *stride));
  Value* loaded = b_.ir().CreateMaskedLoad(
      llvm::FixedVectorType::get(memory_type(buffer.dtype), static_cast<unsigned>(wide)),
      address(buffer, own.access.buffer, offset, copy), alignment_of(buffer.dtype), mask,
      b_.broadcast(otherwise, wide));
  return *stride == 1 ? loaded : every_nth(loaded, *stride);
}

// For `count` neighbours from the first lane's value of a guard on: which fulfil it. Null: the
// numbers may not fit 32 bits.
Value* NestEmitter::neighbours_below(const loop::Guard& guard, int copy, int count) {
  for (const ExpressionId id : {guard.value, guard.limit}) {
    const Interval range = graph_.expressions.bounds(id);
    if (range.low < -(int64_t{1} << 30) || range.high > (int64_t{1} << 30)) return nullptr;
  }
  llvm::Type* type = b_.ir().getInt32Ty();
  const auto spread = [&](ExpressionId id) {
    return b_.broadcast(b_.ir().CreateTrunc(expression_number(id, copy), type), count);
  };
  std::vector<llvm::Constant*> numbers;
  for (int i = 0; i < count; ++i)
    numbers.push_back(b_.ir().getInt32(static_cast<uint32_t>(i)));
  Value* values = b_.ir().CreateAdd(spread(guard.value), llvm::ConstantVector::get(numbers));
  return b_.ir().CreateICmpULT(values, spread(guard.limit));
}

// The mask of lanes as one of their neighbours: each bit `times` times.
Value* NestEmitter::spread_mask(Value* mask, int64_t times) {
  std::vector<int> lanes;
  for (int64_t i = 0; i < piece_.lanes * times; ++i) lanes.push_back(static_cast<int>(i / times));
  return times == 1 ? mask : b_.ir().CreateShuffleVector(mask, lanes);
}

Value* NestEmitter::every_nth(Value* wide, int64_t stride) {
  std::vector<int> picked;
  for (int64_t i = 0; i < piece_.lanes; ++i) picked.push_back(static_cast<int>(i * stride));
  return b_.ir().CreateShuffleVector(wide, picked);
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
    if (mask == nullptr || (mask == present(copy) && piece_.masks.empty())) return load();
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
  if (!has_masks() && (mask != nullptr || dtype_bits(buffer.dtype) < 32)) return nullptr;
  llvm::Type* type = memory_type(buffer.dtype);
  const llvm::Align align = alignment_of(buffer.dtype);
  const auto linear = loop::split_linear(graph_.expressions, offset, lane_symbol_);
  if (!linear) {
    const int64_t times = times_repeated(offset);
    if (times == 1 || (mask != nullptr && mask != present(copy))) return nullptr;
    return load_repeated(type, address(buffer, id, offset, copy), times, align, mask);
  }
  const auto stride = graph_.expressions.as_constant(linear->stride);
  if (differs(linear->remainder) || !stride || *stride < 2 || *stride > 4) return nullptr;
  return load_strided(type, address(buffer, id, offset, copy), *stride, align, mask);
}

// Every `stride`-th element: the vectors that contain them, and nothing after the last one that is
// there, are loaded and shuffled.
Value* NestEmitter::load_strided(llvm::Type* type, Value* from, int64_t stride, llvm::Align align,
                                 Value* mask) {
  const int wide = static_cast<int>(piece_.lanes * stride);
  Value* is_read = b_.known_mask(wide - static_cast<int>(stride) + 1, wide);
  if (mask != nullptr) {
    std::vector<llvm::Constant*> is_picked;
    for (int i = 0; i < wide; ++i) is_picked.push_back(b_.ir().getInt1(i % stride == 0));
    is_read = b_.ir().CreateAnd(spread_mask(mask, stride), llvm::ConstantVector::get(is_picked));
  }
  auto* vector = llvm::FixedVectorType::get(type, static_cast<unsigned>(wide));
  Value* loaded = b_.ir().CreateMaskedLoad(vector, from, align, is_read,
                                           llvm::Constant::getNullValue(vector));
  return every_nth(loaded, stride);
}

// Neighbours that are each repeated `times` times, of the first lanes, which the mask has.
Value* NestEmitter::load_repeated(llvm::Type* type, Value* from, int64_t times, llvm::Align align,
                                  Value* mask) {
  const int64_t count = piece_.lanes / times;
  auto* vector = llvm::FixedVectorType::get(type, static_cast<unsigned>(count));
  Value* loaded = nullptr;
  if (mask == nullptr) {
    loaded = b_.ir().CreateAlignedLoad(vector, from, align);
  } else {
    std::vector<int> firsts;  // of the lanes that read an element
    for (int64_t i = 0; i < count; ++i) firsts.push_back(static_cast<int>(i * times));
    loaded = b_.ir().CreateMaskedLoad(vector, from, align,
                                      b_.ir().CreateShuffleVector(mask, firsts),
                                      llvm::Constant::getNullValue(vector));
  }
  std::vector<int> picked;
  for (int64_t i = 0; i < piece_.lanes; ++i) picked.push_back(static_cast<int>(i / times));
  return b_.ir().CreateShuffleVector(loaded, picked);
}

int64_t NestEmitter::times_repeated(ExpressionId offset) {
  const auto [found, inserted] = repeated_.try_emplace(offset, 1);
  if (inserted && !expression_differs(graph_, offset, {}, by_lane_))
    found->second = repeated_times(graph_, offset, lane_symbol_, piece_.lanes);
  return found->second;
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
    if (piece_.rows == nullptr) {
      rows.push_back(b_.ir().CreateAlignedLoad(vector,
                                               b_.ir().CreateGEP(type, first, b_.mul(stride, lane)),
                                               alignment_of(buffer.dtype)));
      continue;
    }
    // Lanes that are not there read the last one's row.
    Value* there = b_.min(b_.index(lane), b_.sub(piece_.rows, b_.index(1)));
    rows.push_back(b_.ir().CreateMaskedLoad(
        vector, b_.ir().CreateGEP(type, first, b_.mul(stride, there)), alignment_of(buffer.dtype),
        piece_.columns, llvm::Constant::getNullValue(vector)));
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
      const auto store = [&] { emit_store(stores[i], offset, copy); };
      // A store without lanes is slow where its page is not there.
      if (piece_.is_there.empty()) store();
      else b_.if_else(piece_.is_there[static_cast<size_t>(copy)], store, [] {});
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
