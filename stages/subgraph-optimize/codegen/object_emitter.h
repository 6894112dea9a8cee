// From an LLVM module to the bytes of a closed ELF object. The only place that knows LLVM's target
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

// Gives a function the profile's CPU, features and vector width, and forbids calls to library
// functions. Every function of a kernel needs it.
void set_target(llvm::Function& function, const DeviceProfile& profile);

// Verifies, optimises and compiles the module. kCodegen when LLVM refuses the module, or when the
// object names a symbol that it does not define. knows_target: LLVM's passes ask what the machine
// can do; else masks that are known only when the kernel runs become a branch per lane.
Result<std::vector<std::byte>> emit_object(llvm::Module& module, const DeviceProfile& profile,
                                           bool knows_target = false);

// kCodegen naming the first undefined symbol of an ELF64 relocatable object.
Result<void> check_closed(const std::vector<std::byte>& object, const std::string& profile_name);

// What an entry name depends on besides the specification: changes whenever the same specification
// gives other code.
constexpr char kGeneratorVersion[] = "1";

// "k_" and 16 hex digits.
std::string kernel_entry(const std::string& canonical_text, const DeviceProfile& profile);

}  // namespace sluice
