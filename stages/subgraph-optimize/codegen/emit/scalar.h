// Emits the scalar instructions of common/loop/scalar.def, one emitter a row, for scalars or for
// all lanes of vectors.
//
// Include it only in files that emit IR: it brings LLVM's headers.
#pragma once

#include "common/base/dtype.h"
#include "common/loop/scalar.h"
#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"
#include "stages/subgraph-optimize/codegen/emit/math.h"

namespace sluice {

// The type of one number of a dtype in a register: i1 for bool.
llvm::Type* register_type(KernelBuilder& builder, DType dtype);
// A number from its bits, as instructions have them.
llvm::Constant* scalar_constant(KernelBuilder& builder, DType dtype, uint64_t bits);

class ScalarEmitter {
 public:
  ScalarEmitter(KernelBuilder& builder, MathPrecision precision)
      : b_(builder), math_(builder.ir(), builder.profile(), precision) {}

  // The lanes that count: others cannot set the fault of the launch. Null: all.
  void set_active(llvm::Value* mask) { active_ = mask; }

  // Returns the result for operands of equal types (of select: the second and third), whose dtype
  // is `from`; `to` is the dtype of the result.
  llvm::Value* emit(loop::ScalarOp op, DType from, DType to, const IrValues& operands);

  // Returns floats truncated to integers of the dtype `to`; all are within the range of i32.
  llvm::Value* truncate_within_i32(llvm::Value* x, DType to);

  MathEmitter& math() { return math_; }

 private:
  llvm::Value* arithmetic(loop::ScalarOp op, DType dtype, const IrValues& x);
  llvm::Value* function(loop::ScalarOp op, llvm::Value* x);
  llvm::Value* integer_division(loop::ScalarOp op, DType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* compare(loop::ScalarOp op, DType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* cast(DType from, DType to, llvm::Value* x);
  llvm::Value* shift(loop::ScalarOp op, DType dtype, llvm::Value* a, llvm::Value* amount);
  llvm::Value* check_index(llvm::Value* a, llvm::Value* limit);
  llvm::Value* sign(DType dtype, llvm::Value* x);
  void fault_where(llvm::Value* condition);
  llvm::Value* number(llvm::Value* like, int64_t value);
  llvm::Type* typed(llvm::Value* like, DType dtype);

  KernelBuilder& b_;
  MathEmitter math_;
  llvm::Value* active_ = nullptr;
};

}  // namespace sluice
