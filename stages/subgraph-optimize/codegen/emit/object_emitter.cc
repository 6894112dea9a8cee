#include "stages/subgraph-optimize/codegen/emit/object_emitter.h"

#include <elf.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Scalar/GVN.h>

#include <cstring>
#include <mutex>

#include "common/target/kernel_specification.h"
#include "fmt/format.h"

namespace sluice {
namespace {

constexpr char kTriple[] = "x86_64-unknown-linux-gnu";

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

Result<std::unique_ptr<llvm::TargetMachine>> make_target_machine(const DeviceProfile& profile,
                                                                 bool is_quick) {
  initialize_llvm();
  std::string problem;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kTriple, problem);
  if (!target)
    return make_error(ErrorCode::kCodegen, "LLVM has no target {}: {}", kTriple, problem);
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      kTriple, profile.llvm_cpu, profile.llvm_features, llvm::TargetOptions(), llvm::Reloc::PIC_,
      llvm::CodeModel::Small,
      is_quick ? llvm::CodeGenOptLevel::Less : llvm::CodeGenOptLevel::Aggressive));
  if (!machine)
    return make_error(ErrorCode::kCodegen, "LLVM has no machine '{}'", profile.llvm_cpu);
  return machine;
}

template <typename T>
T read_at(const std::vector<std::byte>& bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

}  // namespace

void set_target(llvm::Function& function, const DeviceProfile& profile) {
  function.addFnAttr("target-cpu", profile.llvm_cpu);
  function.addFnAttr("target-features", profile.llvm_features);
  function.addFnAttr("prefer-vector-width", std::to_string(profile.vector_bits));
  function.addFnAttr("no-builtins");
  // Whether denormals are flushed is known only when the kernel runs: comparisons with zero must
  // not become tests of bits.
  function.addFnAttr("denormal-fp-math", "dynamic,dynamic");
  function.addFnAttr(llvm::Attribute::NoUnwind);
}

Result<std::vector<std::byte>> emit_object(llvm::Module& module, const DeviceProfile& profile,
                                           const EmitOptions& options) {
  SLUICE_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine,
                make_target_machine(profile, options.is_quick));
  module.setTargetTriple(kTriple);
  module.setDataLayout(machine->createDataLayout());
  std::string problem;
  llvm::raw_string_ostream problem_stream(problem);
  if (llvm::verifyModule(module, &problem_stream))
    return make_error(ErrorCode::kCodegen, "LLVM refuses the module: {}", problem);

  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream stream(buffer);
  llvm::legacy::PassManager passes;
  // By default LLVM would turn loops into memcpy and memset, which the object cannot call.
  llvm::TargetLibraryInfoImpl no_library{module.getTargetTriple().empty()
                                             ? llvm::Triple(kTriple)
                                             : llvm::Triple(module.getTargetTriple())};
  no_library.disableAllFunctions();
  passes.add(new llvm::TargetLibraryInfoWrapperPass(no_library));
  if (options.knows_target)
    passes.add(llvm::createTargetTransformInfoWrapperPass(machine->getTargetIRAnalysis()));
  // The generator writes nearly final code; only address arithmetic is left to fold, of which long
  // bodies have little.
  passes.add(llvm::createEarlyCSEPass());
  if (!options.is_quick) passes.add(llvm::createInstructionCombiningPass());
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile)) {
    return make_error(ErrorCode::kCodegen, "LLVM cannot write objects for {}", profile.llvm_cpu);
  }
  passes.run(module);
  std::vector<std::byte> object(buffer.size());
  std::memcpy(object.data(), buffer.data(), buffer.size());
  SLUICE_TRY(check_closed(object, profile.name));
  return object;
}

Result<void> check_closed(const std::vector<std::byte>& object, const std::string& profile_name) {
  if (object.size() < sizeof(Elf64_Ehdr))
    return make_error(ErrorCode::kCodegen, "{}: the object has no ELF header", profile_name);
  const auto header = read_at<Elf64_Ehdr>(object, 0);
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    const auto table = read_at<Elf64_Shdr>(object, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (table.sh_type != SHT_SYMTAB) continue;
    const auto names =
        read_at<Elf64_Shdr>(object, header.e_shoff + table.sh_link * sizeof(Elf64_Shdr));
    for (uint64_t at = sizeof(Elf64_Sym); at < table.sh_size;
         at += sizeof(Elf64_Sym)) {  // symbol 0 is the null symbol
      const auto symbol = read_at<Elf64_Sym>(object, table.sh_offset + at);
      if (symbol.st_shndx != SHN_UNDEF) continue;
      return make_error(
          ErrorCode::kCodegen, "{}: the object is not closed: symbol '{}' is undefined",
          profile_name,
          reinterpret_cast<const char*>(object.data()) + names.sh_offset + symbol.st_name);
    }
  }
  return {};
}

std::string kernel_entry(const std::string& canonical_text, const DeviceProfile& profile) {
  return kernel_entry(generator_text(profile) + canonical_text);
}

}  // namespace sluice
