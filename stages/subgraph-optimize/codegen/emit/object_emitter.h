// Compiles an LLVM module to the bytes of a closed ELF object. Only this file knows LLVM's target
// machinery.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/target/profile.h"

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace sluice {

// Sets a function's CPU, features and vector width to the profile's and forbids calls to library
// functions. Every function of a kernel needs it.
void set_target(llvm::Function& function, const DeviceProfile& profile);

struct EmitOptions {
  // LLVM's passes ask what the machine can do; otherwise masks that are known only when the kernel
  // runs become a branch per lane.
  bool knows_target = false;
  // Less is done for each instruction: of straight code that is long.
  bool is_quick = false;
};

// Verifies, optimises and compiles the module. Returns kCodegen when LLVM rejects the module, or
// when the object names a symbol that it does not define.
Result<std::vector<std::byte>> emit_object(llvm::Module& module, const DeviceProfile& profile,
                                           const EmitOptions& options = {});

// Returns kCodegen naming the first undefined symbol of an ELF64 relocatable object.
Result<void> check_closed(const std::vector<std::byte>& object, const std::string& profile_name);

// Returns the entry of a kernel that is not generated from loops (kernel_specification.h).
std::string kernel_entry(const std::string& canonical_text, const DeviceProfile& profile);

}  // namespace sluice
