#include "stages/subgraph-optimize/codegen/loop/load_emitter.h"

#include <algorithm>

#include "stages/subgraph-optimize/codegen/emit/scalar.h"

namespace sluice {

using llvm::Value;
using loop::InstructionId;

Value* LoadEmitter::emit(InstructionId id, int copy) {
  const loop::Instruction& own = nest_.instruction(id);
  const SharedLoad* shared = shared_.find(id, copy);
  const auto load = [&](Value* mask) {
    return shared != nullptr && shared->stride >= 0 ? shared_.load(*shared, own.access.buffer, mask)
                                                    : load_elements(element_of(id), copy, mask);
  };
  if (guards_.are_ignored(own.guards)) return load(values_.present(copy));
  if (Value* loaded = load_guarded(id, copy)) return loaded;
  Value* condition = shared != nullptr && shared->condition != nullptr
                         ? shared->condition
                         : guards_.condition(own.guards, copy);
  Value* otherwise = values_.value(own.operands[0], copy);
  if (!condition->getType()->isVectorTy())
    return guards_.under(condition, [&] { return load(values_.present(copy)); }, otherwise);
  Value* loaded = load(values_.both(values_.present(copy), condition));
  return nest_.builder.ir().CreateSelect(condition, values_.widened(loaded),
                                         values_.widened(otherwise));
}

// Neighbours whose guards move along the lanes with them, as at the edges of a padded image: one
// mask. Null: they lie otherwise.
Value* LoadEmitter::load_guarded(InstructionId id, int copy) {
  const loop::Instruction& own = nest_.instruction(id);
  const loop::Buffer& buffer = nest_.buffer(own.access.buffer);
  const Piece& piece = values_.piece();
  if (!nest_.has_masks_of(buffer.dtype) || piece.is_tile || piece.lanes == 1 || buffer.is_local)
    return nullptr;
  if (buffer.dtype != loop::register_dtype(buffer.dtype) || buffer.dtype == DType::kBool)
    return nullptr;
  Value* otherwise = values_.value(own.operands[0], copy);
  if (!memory_.is_row(element_of(id)) || otherwise->getType()->isVectorTy()) return nullptr;

  llvm::IRBuilder<>& ir = nest_.builder.ir();
  Value* mask = values_.present(copy);
  Value* of_all_lanes = nullptr;
  for (const loop::Guard& guard : own.guards) {
    if (guards_.is_ignored(guard)) continue;
    Value* holds = neighbour_condition(guard, copy);
    if (holds == nullptr) return nullptr;
    mask = values_.both(mask, holds);
    if (holds->getType()->isVectorTy()) continue;
    of_all_lanes = of_all_lanes == nullptr ? holds : ir.CreateAnd(of_all_lanes, holds);
  }
  Value* from = memory_.address(element_of(id), copy);
  // A load without lanes still takes hundreds of cycles where its page is not mapped, as before the
  // first row of an image.
  if (of_all_lanes != nullptr)
    from = ir.CreateSelect(of_all_lanes, from, memory_.base(own.access.buffer));
  return ir.CreateMaskedLoad(memory_.vector_type(buffer.dtype), from, alignment_of(buffer.dtype),
                             values_.widened(mask), values_.widened(otherwise));
}

// Where a guard holds whose value stays or grows by one from lane to lane. Null: it is none.
Value* LoadEmitter::neighbour_condition(const loop::Guard& guard, int copy) {
  ExpressionTable& table = nest_.graph.expressions;
  const auto along = loop::split_linear(table, guard.value, values_.piece().lane_symbol);
  if (!along || values_.differs(along->remainder) || values_.differs(guard.limit)) return nullptr;
  const auto stride = table.as_constant(along->stride);
  if (stride == 0) return guards_.uniform_condition(guard, copy);
  return stride == 1 ? guards_.neighbours_below(guard, copy) : nullptr;
}

// Loads the lanes of the mask (null: all).
Value* LoadEmitter::load_elements(const Element& element, int copy, Value* mask) {
  if (!memory_.differs(element)) return load_one(element, copy, mask);
  if (mask == values_.present(copy) && memory_.has_whole_vectors(element)) mask = nullptr;
  const DType dtype = nest_.buffer(element.buffer).dtype;
  if (memory_.is_row(element)) return memory_.from_memory(dtype, load_row(element, copy, mask));
  if (Value* loaded = load_pattern(element, copy, mask)) return memory_.from_memory(dtype, loaded);
  return memory_.from_memory(dtype, gather(element, copy, mask));
}

// One element for all lanes, if any is there.
Value* LoadEmitter::load_one(const Element& element, int copy, Value* mask) {
  llvm::IRBuilder<>& ir = nest_.builder.ir();
  const DType dtype = nest_.buffer(element.buffer).dtype;
  const auto load = [&] {
    return memory_.from_memory(
        dtype, ir.CreateAlignedLoad(memory_.type(dtype), memory_.address(element, copy),
                                    alignment_of(dtype)));
  };
  const bool is_any_there = mask == values_.present(copy) && values_.piece().masks.empty();
  if (mask == nullptr || is_any_there) return load();
  Value* any = ir.CreateOrReduce(mask);
  llvm::Type* type = register_type(nest_.builder, loop::register_dtype(dtype));
  return guards_.under(any, load, llvm::Constant::getNullValue(type));
}

Value* LoadEmitter::load_row(const Element& element, int copy, Value* mask) {
  llvm::IRBuilder<>& ir = nest_.builder.ir();
  const DType dtype = nest_.buffer(element.buffer).dtype;
  auto* vector = memory_.vector_type(dtype);
  Value* from = memory_.address(element, copy);
  if (mask == nullptr) return ir.CreateAlignedLoad(vector, from, alignment_of(dtype));
  return ir.CreateMaskedLoad(vector, from, alignment_of(dtype), mask,
                             llvm::Constant::getNullValue(vector));
}

Value* LoadEmitter::gather(const Element& element, int copy, Value* mask) {
  const DType dtype = nest_.buffer(element.buffer).dtype;
  auto* vector = memory_.vector_type(dtype);
  const int lanes = values_.piece().lanes;
  Value* pointers = memory_.addresses(element, copy);
  if (mask == nullptr) mask = nest_.builder.known_mask(lanes, lanes);
  return nest_.builder.ir().CreateMaskedGather(vector, pointers, alignment_of(dtype), mask,
                                               llvm::Constant::getNullValue(vector));
}

// Elements at a small stride, when all lanes are there, or each several times: loaded as neighbours
// and shuffled. Null: they lie otherwise.
Value* LoadEmitter::load_pattern(const Element& element, int copy, Value* mask) {
  const DType dtype = nest_.buffer(element.buffer).dtype;
  if (memory_.has_rows_by_lane(element.buffer) || !nest_.has_masks_of(dtype)) return nullptr;
  llvm::Type* type = memory_.type(dtype);
  const llvm::Align align = alignment_of(dtype);
  const auto linear =
      loop::split_linear(nest_.graph.expressions, element.offset, values_.piece().lane_symbol);
  if (!linear) {
    const int64_t times = times_repeated(element.offset);
    if (times == 1 || (mask != nullptr && mask != values_.present(copy))) return nullptr;
    return load_repeated(type, memory_.address(element, copy), times, align, mask);
  }
  const auto stride = nest_.graph.expressions.as_constant(linear->stride);
  const bool is_small = stride && *stride >= 2 && *stride <= 4;
  if (values_.differs(linear->remainder) || !is_small || mask != nullptr) return nullptr;
  return load_strided(type, memory_.address(element, copy), *stride, align);
}

// Every `stride`-th element, of all lanes: the vectors that contain them are loaded and shuffled.
// The last vector ends with the last lane's element, after which nothing may be read. (Under a mask
// it is a gather: of a masked load some of whose elements no lane wants, LLVM 19 can make a load of
// all of them.)
Value* LoadEmitter::load_strided(llvm::Type* type, Value* from, int64_t stride, llvm::Align align) {
  KernelBuilder& b = nest_.builder;
  const int lanes = values_.piece().lanes;
  const int64_t last = (lanes - 1) * stride + 1 - lanes;  // where the last vector begins
  auto* vector = llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes));
  Value* picked = nullptr;
  for (int64_t at = 0, lane = 0; lane < lanes; at += lanes) {
    at = std::min(at, last);
    Value* loaded =
        b.ir().CreateAlignedLoad(vector, b.ir().CreateGEP(type, from, b.index(at)), align);
    std::vector<int> order;  // the lanes so far, then those of this vector
    for (int i = 0; i < lanes; ++i) order.push_back(i);
    for (; lane < lanes && lane * stride < at + lanes; ++lane)
      order[static_cast<size_t>(lane)] = lanes + static_cast<int>(lane * stride - at);
    if (picked == nullptr) picked = llvm::PoisonValue::get(vector);
    picked = b.ir().CreateShuffleVector(picked, loaded, order);
  }
  return picked;
}

// Neighbours that are each repeated `times` times, of the first lanes, which the mask has.
Value* LoadEmitter::load_repeated(llvm::Type* type, Value* from, int64_t times, llvm::Align align,
                                  Value* mask) {
  llvm::IRBuilder<>& ir = nest_.builder.ir();
  const int64_t lanes = values_.piece().lanes, count = lanes / times;
  auto* vector = llvm::FixedVectorType::get(type, static_cast<unsigned>(count));
  Value* loaded = nullptr;
  if (mask == nullptr) {
    loaded = ir.CreateAlignedLoad(vector, from, align);
  } else {
    std::vector<int> firsts;  // of the lanes that read an element
    for (int64_t i = 0; i < count; ++i) firsts.push_back(static_cast<int>(i * times));
    loaded = ir.CreateMaskedLoad(vector, from, align, ir.CreateShuffleVector(mask, firsts),
                                 llvm::Constant::getNullValue(vector));
  }
  std::vector<int> picked;
  for (int64_t i = 0; i < lanes; ++i) picked.push_back(static_cast<int>(i / times));
  return ir.CreateShuffleVector(loaded, picked);
}

int64_t LoadEmitter::times_repeated(ExpressionId offset) {
  const auto [found, inserted] = repeated_.try_emplace(offset, 1);
  if (inserted && !values_.mentions_lanes(offset)) {
    const Piece& piece = values_.piece();
    found->second = repeated_times(nest_.graph, offset, piece.lane_symbol, piece.lanes);
  }
  return found->second;
}

}  // namespace sluice
