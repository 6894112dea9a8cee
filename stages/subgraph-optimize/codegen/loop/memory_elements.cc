#include "stages/subgraph-optimize/codegen/loop/memory_elements.h"

#include "stages/subgraph-optimize/codegen/emit/scalar.h"

namespace sluice {

using llvm::Value;

llvm::Align alignment_of(DType dtype) {
  return llvm::Align(static_cast<uint64_t>(loop::access_bits(dtype)) / 8);
}

llvm::Type* MemoryElements::type(DType dtype) const {
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
      return nest_.builder.ir().getInt16Ty();
    case DType::kBool:
      return nest_.builder.ir().getInt8Ty();
    default:
      return register_type(nest_.builder, loop::register_dtype(dtype));
  }
}

llvm::FixedVectorType* MemoryElements::vector_type(DType dtype) const {
  return llvm::FixedVectorType::get(type(dtype), static_cast<unsigned>(values_.piece().lanes));
}

Value* MemoryElements::from_memory(DType dtype, Value* value) {
  if (dtype == DType::kF16) return math_.half_to_float(value);
  if (dtype == DType::kBF16) return math_.bfloat_to_float(value);
  if (dtype != DType::kBool) return value;
  return nest_.builder.ir().CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
}

Value* MemoryElements::to_memory(DType dtype, Value* value) {
  if (dtype == DType::kF16) return math_.float_to_half(value);
  if (dtype == DType::kBF16) return math_.float_to_bfloat(value);
  if (dtype != DType::kBool) return value;
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  llvm::Type* byte = nest_.builder.ir().getInt8Ty();
  return nest_.builder.ir().CreateZExt(
      value, vector == nullptr ? byte : llvm::FixedVectorType::get(byte, vector->getNumElements()));
}

Value* MemoryElements::address(const Element& element, int copy) {
  KernelBuilder& b = nest_.builder;
  const Piece& piece = values_.piece();
  llvm::Type* type = this->type(nest_.buffer(element.buffer).dtype);
  if (has_rows_by_lane(element.buffer)) {
    Value* row = b.mul(values_.number(element.offset), int64_t{piece.lanes} * piece.copies);
    return b.ir().CreateGEP(type, base(element.buffer),
                            b.add(row, b.index(int64_t{copy} * piece.lanes)));
  }
  if (copy > 0 && values_.differs_by_copy(element.offset)) {
    const auto linear =
        loop::split_linear(nest_.graph.expressions, element.offset, piece.copy_symbol);
    if (linear && !values_.differs_by_copy(linear->remainder)) {
      Value* first = b.ir().CreateGEP(type, base(element.buffer), values_.number(element.offset));
      Value* stride = values_.number(linear->stride);
      return b.ir().CreateGEP(type, first, b.mul(stride, copy * piece.copy_step()));
    }
  }
  return b.ir().CreateGEP(type, base(element.buffer), values_.number(element.offset, copy));
}

Value* MemoryElements::addresses(const Element& element, int copy) {
  Value* at = values_.lanes(element.offset, copy);
  if (has_rows_by_lane(element.buffer)) at = row_by_lane_indices(at, copy);
  return nest_.builder.ir().CreateGEP(type(nest_.buffer(element.buffer).dtype),
                                      base(element.buffer), at);
}

// The index of each lane's own element in rows that have one for every lane.
Value* MemoryElements::row_by_lane_indices(Value* rows, int copy) {
  KernelBuilder& b = nest_.builder;
  const Piece& piece = values_.piece();
  std::vector<llvm::Constant*> own;
  for (int64_t i = 0; i < piece.lanes; ++i)
    own.push_back(b.ir().getInt64(static_cast<uint64_t>(copy * piece.lanes + i)));
  Value* at = b.ir().CreateSExt(rows, llvm::FixedVectorType::get(b.index_type(), piece.lanes));
  Value* length = b.broadcast(b.index(int64_t{piece.lanes} * piece.copies), piece.lanes);
  return b.ir().CreateAdd(b.ir().CreateMul(at, length), llvm::ConstantVector::get(own));
}

bool MemoryElements::differs(const Element& element) const {
  return has_rows_by_lane(element.buffer) ? values_.piece().lanes > 1
                                          : values_.differs(element.offset);
}

bool MemoryElements::is_row(const Element& element) const {
  if (has_rows_by_lane(element.buffer)) return !values_.differs(element.offset);
  const auto linear =
      loop::split_linear(nest_.graph.expressions, element.offset, values_.piece().lane_symbol);
  return linear && !values_.differs(linear->remainder) &&
         nest_.graph.expressions.as_constant(linear->stride) == 1;
}

bool MemoryElements::has_whole_vectors(const Element& element) const {
  if (has_rows_by_lane(element.buffer)) return !values_.differs(element.offset);
  const Piece& piece = values_.piece();
  const Expression& e = nest_.graph.expressions[element.offset];
  const bool is_lane = e.op == ExpressionOp::kSymbol && e.value == piece.lane_symbol;
  return nest_.buffer(element.buffer).is_local && nest_.is_inner() && is_lane &&
         piece.lanes == nest_.plan.lanes;
}

}  // namespace sluice
