#include "stages/subgraph-optimize/codegen/emit/llvm_memory.h"

#include <llvm/Support/ErrorHandling.h>

#include <mutex>

namespace sluice {

LlvmMemory::LlvmMemory() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { end_without_memory(); });
  });
}

}  // namespace sluice
