#include "stages/subgraph-optimize/codegen/contraction/tile_function.h"

#include "stages/subgraph-optimize/codegen/emit/epilogue_emitter.h"

namespace sluice {

using llvm::Value;

TileFunction::TileFunction(KernelBuilder& builder, const std::string& name, const TileShape& shape,
                           const TileOutput& output)
    : b_(builder), shape_(shape), output_(output) {
  std::vector<llvm::Type*> parameters(3, b_.pointer_type());
  parameters.push_back(b_.index_type());
  parameters.insert(parameters.end(), output.operand_rows.size(), b_.pointer_type());
  if (shape.is_symbolic) parameters.insert(parameters.end(), {b_.pointer_type(), b_.index_type()});
  function_ = b_.begin_function(name, parameters);
  if (shape.is_symbolic)
    b_.set_symbols(function_->getArg(static_cast<unsigned>(parameters.size() - 2)));
  if (shape.active == 0) mask_ = b_.mask(active(), shape.lanes);
}

Value* TileFunction::active() {
  if (shape_.active != 0) return b_.index(shape_.active);
  return function_->getArg(static_cast<unsigned>(function_->arg_size() - 1));
}

int TileFunction::known_active(int vector) const {
  return vector == shape_.vectors - 1 ? shape_.active : shape_.lanes;
}

Value* TileFunction::mask_of(int vector) {
  const int active = known_active(vector);
  return active == 0 ? mask_ : b_.known_mask(active, shape_.lanes);
}

Value* TileFunction::load(Elements& from, Value* pointer, int vector) {
  const int active = known_active(vector);
  if (active == 0) return from.load_masked(pointer, shape_.lanes, mask_);
  return from.load_vector(pointer, shape_.lanes, active);
}

llvm::Function* TileFunction::finish(const IrValues& sums) {
  if (is_long(*output_.epilogue, shape_.rows * shape_.vectors)) {
    finish_in_loop(sums);
  } else {
    finish_unrolled(sums);
  }
  b_.ret_void();
  return function_;
}

Elements TileFunction::operand_elements(int operand) {
  return {b_, output_.epilogue->operand_dtype(static_cast<size_t>(operand))};
}

// Returns the offset of a row of the tile in what has such rows.
Value* TileFunction::row_offset(const TileRows& rows, Value* row) {
  Value* r = b_.add(function_->getArg(3), row);
  if (rows.image_rows.is_fixed_at(0)) return b_.mul(r, rows.row_stride);
  Value* image_rows = b_.value(rows.image_rows);
  return b_.add(b_.mul(b_.div(r, image_rows), rows.image_stride),
                b_.mul(b_.mod(r, image_rows), rows.row_stride));
}

Value* TileFunction::operand_address(int operand, Value* row, int vector) {
  Elements elements = operand_elements(operand);
  const int64_t column =
      vector * shape_.lanes * output_.epilogue->operands[operand].column_stride.nominal;
  Value* pointer = function_->getArg(static_cast<unsigned>(4 + operand));
  if (is_same_for_all_rows(operand)) return elements.at(pointer, column);
  return elements.at(elements.at(pointer, row_offset(output_.operand_rows[operand], row)), column);
}

Value* TileFunction::result_address(Elements& stored, Value* row, int vector) {
  Value* offset = output_.rows.image_rows.is_fixed_at(0) ? b_.mul(row, output_.rows.row_stride)
                                                         : row_offset(output_.rows, row);
  return stored.at(stored.at(function_->getArg(2), offset), vector * shape_.lanes);
}

Value* TileFunction::load_operand(int operand, Value* row, int vector) {
  Elements elements = operand_elements(operand);
  Value* address = operand_address(operand, row, vector);
  if (output_.epilogue->operands[operand].column_stride.nominal == 0)
    return b_.broadcast(elements.load(address), shape_.lanes);
  return load(elements, address, vector);
}

bool TileFunction::is_same_for_all_rows(int operand) const {
  return output_.operand_rows[operand].row_stride.is_fixed_at(0) &&
         output_.operand_rows[operand].image_rows.is_fixed_at(0);
}

// Loads the operands that all rows share, once.
IrValues TileFunction::shared_operands(int vector) {
  IrValues shared(output_.operand_rows.size(), nullptr);
  for (size_t n = 0; n < shared.size(); ++n) {
    const int operand = static_cast<int>(n);
    if (is_same_for_all_rows(operand)) shared[n] = load_operand(operand, b_.index(0), vector);
  }
  return shared;
}

void TileFunction::finish_vector(Value* sum, Value* row, int vector, const IrValues& shared) {
  Value* result = emit_epilogue(b_, *output_.epilogue, sum, [&](int operand) {
    return shared[operand] ? shared[operand] : load_operand(operand, row, vector);
  });
  Elements stored(b_, output_.epilogue->stored(DType::kF32));
  Value* address = result_address(stored, row, vector);
  const int active = known_active(vector);
  if (active == 0) {
    stored.store_masked(result, address, mask_);
  } else {
    stored.store_vector(result, address, active);
  }
}

void TileFunction::finish_unrolled(const IrValues& sums) {
  for (int j = 0; j < shape_.vectors; ++j) {
    const IrValues shared = shared_operands(j);
    for (int i = 0; i < shape_.rows; ++i)
      finish_vector(sums[static_cast<size_t>(i) * shape_.vectors + j], b_.index(i), j, shared);
  }
}

void TileFunction::finish_in_loop(const IrValues& sums) {
  Value* buffer = b_.stack(b_.vector_type(shape_.lanes), static_cast<int64_t>(sums.size()));
  for (size_t n = 0; n < sums.size(); ++n) {
    b_.store_vector(sums[n], b_.at(buffer, static_cast<int64_t>(n) * shape_.lanes), shape_.lanes);
  }
  std::vector<IrValues> shared;
  for (int j = 0; j < shape_.vectors; ++j) shared.push_back(shared_operands(j));
  b_.loop(b_.index(0), b_.index(shape_.rows), 1, [&](Value* row) {
    Value* of_row = b_.at(buffer, b_.mul(row, shape_.vectors * shape_.lanes));
    for (int j = 0; j < shape_.vectors; ++j) {
      finish_vector(b_.load_vector(b_.at(of_row, j * shape_.lanes), shape_.lanes, shape_.lanes),
                    row, j, shared[j]);
    }
  });
}

}  // namespace sluice
