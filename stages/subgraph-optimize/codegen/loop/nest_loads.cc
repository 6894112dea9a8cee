// Loads: which lanes lie how in memory, and the cheapest way to fill a vector with them.
#include <algorithm>

#include "stages/subgraph-optimize/codegen/emit/register_transpose.h"
#include "stages/subgraph-optimize/codegen/loop/nest_emitter.h"

namespace sluice {

using llvm::Value;
using loop::InstructionId;
using loop::InstructionKind;

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

// Neighbours whose guards move along the lanes with them, as at the edges of a padded image: one
// mask. Null: they lie otherwise.
Value* NestEmitter::load_guarded(InstructionId id, int copy) {
  const loop::Instruction& own = instruction(id);
  const loop::Buffer& buffer = graph_.buffers[static_cast<size_t>(own.access.buffer)];
  if (!has_masks_of(buffer.dtype) || piece_.is_tile || piece_.lanes == 1 || buffer.is_local)
    return nullptr;
  if (buffer.dtype != loop::register_dtype(buffer.dtype) || buffer.dtype == DType::kBool)
    return nullptr;
  ExpressionTable& table = graph_.expressions;
  const ExpressionId offset = flat_.load_offsets[static_cast<size_t>(id)];
  Value* otherwise = value(own.operands[0], copy);
  if (!is_row(buffer, offset) || otherwise->getType()->isVectorTy()) return nullptr;

  Value* mask = present(copy);
  for (const loop::Guard& guard : own.guards) {
    if (is_ignored(guard)) continue;
    const auto along = loop::split_linear(table, guard.value, lane_symbol_);
    if (!along || differs(along->remainder) || differs(guard.limit)) return nullptr;
    Value* holds = nullptr;
    if (table.as_constant(along->stride) == 0) {
      holds = b_.ir().CreateICmpULT(expression_number(guard.value, copy),
                                    expression_number(guard.limit, copy));
    } else if (table.as_constant(along->stride) == 1) {
      holds = neighbours_below(guard, copy, piece_.lanes);
    }
    if (holds == nullptr) return nullptr;
    mask = both(mask, holds);
  }
  return b_.ir().CreateMaskedLoad(
      llvm::FixedVectorType::get(memory_type(buffer.dtype), static_cast<unsigned>(piece_.lanes)),
      address(buffer, own.access.buffer, offset, copy), alignment_of(buffer.dtype), widened(mask),
      widened(otherwise));
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
  for (int i = 0; i < count; ++i) numbers.push_back(b_.ir().getInt32(static_cast<uint32_t>(i)));
  Value* values = b_.ir().CreateAdd(spread(guard.value), llvm::ConstantVector::get(numbers));
  return b_.ir().CreateICmpULT(values, spread(guard.limit));
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
  if (mask == present(copy) && has_whole_vectors(buffer, offset)) mask = nullptr;
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

// Elements at a small stride, when all lanes are there, or each several times: loaded as neighbours
// and shuffled. Null: they lie otherwise.
Value* NestEmitter::load_pattern(const loop::Buffer& buffer, loop::BufferId id, ExpressionId offset,
                                 int copy, Value* mask) {
  if (!has_masks_of(buffer.dtype)) return nullptr;
  llvm::Type* type = memory_type(buffer.dtype);
  const llvm::Align align = alignment_of(buffer.dtype);
  const auto linear = loop::split_linear(graph_.expressions, offset, lane_symbol_);
  if (!linear) {
    const int64_t times = times_repeated(offset);
    if (times == 1 || (mask != nullptr && mask != present(copy))) return nullptr;
    return load_repeated(type, address(buffer, id, offset, copy), times, align, mask);
  }
  const auto stride = graph_.expressions.as_constant(linear->stride);
  const bool is_small = stride && *stride >= 2 && *stride <= 4;
  if (differs(linear->remainder) || !is_small || mask != nullptr) return nullptr;
  return load_strided(type, address(buffer, id, offset, copy), *stride, align);
}

// Every `stride`-th element, of all lanes: the vectors that contain them are loaded and shuffled.
// The last vector ends with the last lane's element, after which nothing may be read. (Under a mask
// it is a gather: of a masked load some of whose elements no lane wants, LLVM 19 can make a load of
// all of them.)
Value* NestEmitter::load_strided(llvm::Type* type, Value* from, int64_t stride, llvm::Align align) {
  const int lanes = piece_.lanes;
  const int64_t last = (lanes - 1) * stride + 1 - lanes;  // where the last vector begins
  auto* vector = llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes));
  Value* picked = nullptr;
  for (int64_t at = 0, lane = 0; lane < lanes; at += lanes) {
    at = std::min(at, last);
    Value* loaded =
        b_.ir().CreateAlignedLoad(vector, b_.ir().CreateGEP(type, from, b_.index(at)), align);
    std::vector<int> order;  // the lanes so far, then those of this vector
    for (int i = 0; i < lanes; ++i) order.push_back(i);
    for (; lane < lanes && lane * stride < at + lanes; ++lane)
      order[static_cast<size_t>(lane)] = lanes + static_cast<int>(lane * stride - at);
    if (picked == nullptr) picked = llvm::PoisonValue::get(vector);
    picked = b_.ir().CreateShuffleVector(picked, loaded, order);
  }
  return picked;
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
    loaded =
        b_.ir().CreateMaskedLoad(vector, from, align, b_.ir().CreateShuffleVector(mask, firsts),
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
  if (!is_tile_load(graph_, flat_, id, lane_symbol_, copy_symbol_, by_square_)) return false;
  const loop::Instruction& own = instruction(id);
  const loop::Buffer& buffer = graph_.buffers[static_cast<size_t>(own.access.buffer)];
  const ExpressionId offset = flat_.load_offsets[static_cast<size_t>(id)];
  Value* first = address(buffer, own.access.buffer, offset, 0);
  Value* stride =
      index_.number(loop::split_linear(graph_.expressions, offset, lane_symbol_)->stride);
  IrValues rows;
  for (int lane = 0; lane < piece_.lanes; ++lane)
    rows.push_back(load_tile_row(own, first, stride, lane));
  transpose_in_registers(b_, rows);
  const bool is_guarded =
      std::ranges::any_of(own.guards, [&](const loop::Guard& g) { return !is_ignored(g); });
  Value* condition = is_guarded ? widened(guard_condition(own.guards, 0)) : nullptr;
  for (Value*& row : rows) {
    row = from_memory(buffer.dtype, row);
    if (is_guarded) row = b_.ir().CreateSelect(condition, row, widened(value(own.operands[0], 0)));
  }
  values_[static_cast<size_t>(id)] = std::move(rows);
  return true;
}

// The elements of a lane along the tile axis, at `stride` from those of the lane before; zeros
// where the guards do not hold.
Value* NestEmitter::load_tile_row(const loop::Instruction& own, Value* first, Value* stride,
                                  int lane) {
  const DType dtype = graph_.buffers[static_cast<size_t>(own.access.buffer)].dtype;
  llvm::Type* type = memory_type(dtype);
  auto* vector = llvm::FixedVectorType::get(type, static_cast<unsigned>(piece_.lanes));
  Value* zeros = llvm::Constant::getNullValue(vector);
  // Lanes that are not there read the last one's row.
  Value* there = b_.index(lane);
  if (piece_.rows != nullptr) there = b_.min(there, b_.sub(piece_.rows, b_.index(1)));
  const auto load = [&]() -> Value* {
    Value* from = b_.ir().CreateGEP(type, first, b_.mul(stride, there));
    if (piece_.rows == nullptr) return b_.ir().CreateAlignedLoad(vector, from, alignment_of(dtype));
    return b_.ir().CreateMaskedLoad(vector, from, alignment_of(dtype), piece_.columns, zeros);
  };
  Value* begin = index_.axis(lane_symbol_);
  index_.set_axis(lane_symbol_, b_.add(begin, there));
  Value* holds = b_.ir().getInt1(true);
  for (const loop::Guard& guard : own.guards) {
    if (is_ignored(guard)) continue;
    holds = b_.ir().CreateAnd(
        holds, b_.ir().CreateICmpULT(index_.number(guard.value), index_.number(guard.limit)));
  }
  index_.set_axis(lane_symbol_, begin);
  // A row that is known not to be there may lie after the operand's end.
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(holds))
    return known->isOne() ? load() : zeros;
  return under(holds, load, zeros);
}

}  // namespace sluice
