// Emits vectors of integers of 8 and 32 bits, and stores what epilogues make of sums. Include it
// only in files that emit IR.
#pragma once

#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"
#include "stages/subgraph-optimize/codegen/int8/int8.h"

namespace sluice {

class Int8Emitter {
 public:
  explicit Int8Emitter(KernelBuilder& builder) : b_(builder) {}

  // Returns an address; offsets are in bytes.
  llvm::Value* bytes_at(llvm::Value* pointer, llvm::Value* offset);
  llvm::Value* bytes_at(llvm::Value* pointer, int64_t offset) {
    return bytes_at(pointer, b_.index(offset));
  }

  llvm::Type* byte_vector(int lanes) {
    return llvm::FixedVectorType::get(b_.ir().getInt8Ty(), lanes);
  }
  llvm::Type* int_vector(int lanes) {
    return llvm::FixedVectorType::get(b_.ir().getInt32Ty(), lanes);
  }
  llvm::Value* ints(int32_t value, int lanes);
  llvm::Value* load_ints(llvm::Value* pointer, int lanes, int active);
  llvm::Value* load_bytes(llvm::Value* pointer, int lanes, int active);
  void store_bytes(llvm::Value* vector, llvm::Value* pointer, int active);
  llvm::Value* widened(llvm::Value* vector, int bits, bool is_signed);
  llvm::Value* load_byte(llvm::Value* pointer, bool is_signed);  // as i32

  // Returns sum + x * w added over pairs of 16 bits: sum is a vector of i32, the factors have twice
  // as many lanes of i16.
  llvm::Value* add_products_of_pairs(llvm::Value* sum, llvm::Value* x, llvm::Value* w);
  // Returns sum + x * w added over fours: x bytes without sign, w bytes with sign, all as vectors
  // of i32. Without int8_dot_product only narrow w (int8_panel.h) give the exact sum.
  llvm::Value* add_products_of_fours(llvm::Value* sum, llvm::Value* x, llvm::Value* w);
  // Returns sum + the elements of a vector of 32 bits per lane: pairs of i16 with a unit of 2,
  // fours of bytes without sign with a unit of 4.
  llvm::Value* add_elements(llvm::Value* sum, llvm::Value* elements, int unit);

  // Returns the vector, of which LLVM then knows nothing. Emits no instruction. LLVM would add the
  // products of several steps before it adds them to the sums, for which registers do not suffice.
  llvm::Value* opaque(llvm::Value* vector);

  // Stores what the epilogue makes of the sums; y points at the first element of the vector. The
  // mask, unless it is null, selects the active lanes.
  void finish(llvm::Value* sums, const Epilogue& epilogue,
              const std::function<llvm::Value*(int)>& load, llvm::Value* y, int active,
              llvm::Value* mask = nullptr);

 private:
  llvm::Value* add_narrow_products(llvm::Value* sum, llvm::Value* x, llvm::Value* w);

  KernelBuilder& b_;
};

// Returns the bytes of one stored element.
int64_t int8_stored_bytes(const Epilogue& epilogue);
// Returns kCodegen for numbers outside their types, and for epilogues that do not fit.
Result<void> check_int8_numbers(const Int8Numbers& numbers, const Epilogue& epilogue,
                                size_t batch_rank = 1);
std::string canonical_text(const Int8Numbers& numbers);
// The operands of a kernel; w_zero and bias are between the packed weights and the epilogue's
// operands.
struct Int8Pointers {
  llvm::Value *y, *x, *weights, *sums;
  llvm::Value *w_zero, *bias;  // null where there is none
  llvm::Value* x_zero;         // i32, in the range of x
  IrValues operands;           // the epilogue's
};
Int8Pointers int8_pointers(KernelBuilder& builder, const Int8Numbers& numbers,
                           const Epilogue& epilogue);

}  // namespace sluice
