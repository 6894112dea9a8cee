// The specification of a generated kernel: a text that says everything its code depends on. The
// digest of the text names the kernel, so kernels of equal names are equal on every machine.
//
// Each begins with the generator and the machine; that of a kernel that is generated from loops
// goes on with the precision of functions and the text of the loops (common/loop/text.h):
//
//   kernel 1 generator 3
//   profile "cpu-avx2" isa "avx2" llvm_cpu "x86-64-v3" llvm_features "+avx2,+fma" vector_bits 256 …
//   math default
//   loops 1
//   …
//
// `sluice show --loops` prints it, and `sluice-subgraph-optimize --kernel` compiles it alone.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/loop/loop_graph.h"
#include "common/target/math_precision.h"
#include "common/target/profile.h"

namespace sluice {

// It changes whenever the same specification is to give other code.
inline constexpr int64_t kGeneratorVersion = 11;

struct KernelSpecification {
  DeviceProfile profile;  // without engines
  MathPrecision math = MathPrecision::kDefault;
  loop::LoopGraph loops;
};

// Returns the first lines of every specification.
std::string generator_text(const DeviceProfile& profile);
// Returns the specification of the kernel of a loop graph that verifies.
std::string specification_text(const loop::LoopGraph& loops, const DeviceProfile& profile,
                               MathPrecision math);
inline std::string specification_text(const KernelSpecification& specification) {
  return specification_text(specification.loops, specification.profile, specification.math);
}

// Parses and verifies a specification. name is that of the text. Errors: kBadText, which says
// "name:line:column: …"; those of loop::verify, with the name as file.
Result<KernelSpecification> parse_specification(std::string_view text, const std::string& name);

// Returns the entry of the kernel: "k_" and 16 hex digits of the text's digest.
std::string kernel_entry(std::string_view specification);

}  // namespace sluice
