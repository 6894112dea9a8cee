// Writes LLVM IR for a kernel: constants, addresses, loops, vector loads and stores. Everything
// here is straight translation; other files decide what code to write.
//
// Include it only in files that emit IR: it brings LLVM's headers.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "stages/subgraph-optimize/codegen/codegen.h"
#include "stages/subgraph-optimize/codegen/emit/object_emitter.h"

namespace sluice {

using IrValues = std::vector<llvm::Value*>;

class KernelBuilder {
 public:
  explicit KernelBuilder(const DeviceProfile& profile);

  llvm::IRBuilder<>& ir() { return ir_; }
  llvm::Module& module() { return module_; }
  const DeviceProfile& profile() const { return profile_; }

  // Functions. begin_* starts a new function with the insert point in its entry block; the caller
  // ends it with ret_void().
  llvm::Function* begin_kernel(const std::string& entry);  // arguments: KernelArgs*, block, blocks
  llvm::Function* begin_function(
      const std::string& name,
      const std::vector<llvm::Type*>& parameters);  // internal, never inlined
  void ret_void() { ir_.CreateRetVoid(); }
  // Kernel arguments are valid in the kernel function only.
  llvm::Value* pointer_argument(int index);             // KernelArgs.pointers[index]
  IrValues pointer_arguments(int first, size_t count);  // the `count` ones from index `first` on
  llvm::Value* scratch();
  llvm::Value* fault();   // the address of the launch's fault
  llvm::Value* block();   // i64
  llvm::Value* blocks();  // i64
  llvm::Value* symbols_argument();

  // The values of extents. A function that uses symbolic ones must first call set_symbols with the
  // address of their values (KernelArgs.symbols).
  void set_symbols(llvm::Value* symbols) { symbols_ = symbols; }
  llvm::Value* symbols() { return symbols_; }
  llvm::Value* value(const Extent& extent);  // i64; computed once, at the function's entry

  // Types and constants.
  llvm::Type* pointer_type() { return llvm::PointerType::getUnqual(context_); }
  llvm::Type* float_type() { return llvm::Type::getFloatTy(context_); }
  llvm::Type* index_type() { return llvm::Type::getInt64Ty(context_); }
  llvm::Type* vector_type(int lanes) { return llvm::FixedVectorType::get(float_type(), lanes); }
  llvm::Value* index(int64_t value) { return ir_.getInt64(static_cast<uint64_t>(value)); }
  llvm::Value* splat(float value, int lanes);

  // Index arithmetic is on i64; constants fold.
  llvm::Value* add(llvm::Value* a, llvm::Value* b) { return ir_.CreateAdd(a, b); }
  llvm::Value* sub(llvm::Value* a, llvm::Value* b) { return ir_.CreateSub(a, b); }
  llvm::Value* mul(llvm::Value* a, int64_t b) { return ir_.CreateMul(a, index(b)); }
  llvm::Value* mul(llvm::Value* a, llvm::Value* b) { return ir_.CreateMul(a, b); }
  llvm::Value* mul(llvm::Value* a, const Extent& b) {
    return b.is_fixed() ? mul(a, b.factor) : mul(a, value(b));
  }
  llvm::Value* div(llvm::Value* a, int64_t b) { return ir_.CreateUDiv(a, index(b)); }  // a >= 0
  llvm::Value* mod(llvm::Value* a, int64_t b) { return ir_.CreateURem(a, index(b)); }
  llvm::Value* div(llvm::Value* a, llvm::Value* b) { return ir_.CreateUDiv(a, b); }  // b > 0
  llvm::Value* mod(llvm::Value* a, llvm::Value* b) { return ir_.CreateURem(a, b); }
  llvm::Value* ceil_div(llvm::Value* a, llvm::Value* b) { return div(add(a, sub(b, index(1))), b); }
  llvm::Value* min(llvm::Value* a, llvm::Value* b) {
    return ir_.CreateSelect(ir_.CreateICmpSLT(a, b), a, b);
  }
  llvm::Value* max(llvm::Value* a, llvm::Value* b) {
    return ir_.CreateSelect(ir_.CreateICmpSGT(a, b), a, b);
  }
  // Returns part `which` of `count` of a range of `size`: [begin, end); sizes differ by at most
  // one.
  std::pair<llvm::Value*, llvm::Value*> partition(int64_t size, llvm::Value* which, int64_t count);
  std::pair<llvm::Value*, llvm::Value*> partition(llvm::Value* size, llvm::Value* which,
                                                  llvm::Value* count);

  // Addresses and memory: offsets count floats.
  llvm::Value* at(llvm::Value* pointer, llvm::Value* offset) {
    return ir_.CreateInBoundsGEP(float_type(), pointer, offset);
  }
  llvm::Value* at(llvm::Value* pointer, int64_t offset) {
    return offset == 0 ? pointer : at(pointer, index(offset));
  }
  llvm::Value* load_float(llvm::Value* pointer);
  // Loads or stores the first `active` lanes; the others are zero and their memory is not touched.
  llvm::Value* load_vector(llvm::Value* pointer, int lanes, int active);
  void store_vector(llvm::Value* vector, llvm::Value* pointer, int active);
  // Masked versions serve a number of lanes known only when the kernel runs, for profiles whose
  // vectors have masks.
  bool has_masks() const { return profile_.vector_bits >= 256; }
  llvm::Value* mask(llvm::Value* active, int lanes);
  llvm::Value* load_masked(llvm::Value* pointer, int lanes, llvm::Value* mask);
  void store_masked(llvm::Value* vector, llvm::Value* pointer, llvm::Value* mask);
  // Returns the floats at pointer + offsets[lane] where the mask is set; the others are zero and
  // their memory is not touched.
  llvm::Value* gather(llvm::Value* pointer, llvm::Value* offsets, llvm::Value* mask);
  llvm::Value* multiples(llvm::Value* number, int lanes);  // 0, number, 2 * number, …
  llvm::Constant* known_mask(int active, int lanes);
  llvm::Value* broadcast(llvm::Value* scalar, int lanes) {
    return ir_.CreateVectorSplat(lanes, scalar);
  }
  // Returns a * b + c, fused where the profile can.
  llvm::Value* multiply_add(llvm::Value* a, llvm::Value* b, llvm::Value* c);
  // Emits no instruction, but loads and stores are not moved across it.
  void keep_memory_order();

  // Emits for (i = begin; i < end; i += step) carried = body(i, carried) and returns the carried
  // values after the loop. Nothing runs when begin >= end.
  IrValues loop(llvm::Value* begin, llvm::Value* end, int64_t step, IrValues carried,
                const std::function<IrValues(llvm::Value* i, const IrValues& carried)>& body);
  void loop(llvm::Value* begin, llvm::Value* end, int64_t step,
            const std::function<void(llvm::Value* i)>& body);
  void if_else(llvm::Value* condition, const std::function<void()>& then,
               const std::function<void()>& otherwise);
  // Returns memory of the frame of the function that is being emitted.
  llvm::Value* stack(llvm::Type* type, int64_t count);

  // Sets object and entry.
  Result<GeneratedKernel> finish(const std::string& entry, const EmitOptions& options = {});

 private:
  llvm::Value* kernel_member(int member);

  const DeviceProfile& profile_;
  llvm::LLVMContext context_;
  llvm::Module module_;
  llvm::IRBuilder<> ir_;
  llvm::Function* kernel_ = nullptr;
  llvm::Value* symbols_ = nullptr;
  // The known values of the function being emitted.
  std::map<std::pair<int64_t, std::vector<uint16_t>>, llvm::Value*> values_;
};

}  // namespace sluice
