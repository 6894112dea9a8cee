// Takes a textual graph, which it reads as sluice-as does.
#include "common/base/memory.h"
#include "common/text/text.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice;
  auto module = within_memory([&] { return parse_module(fuzz::text_of(data, size), "fuzzed"); });
  if (!module) {
    fuzz::expect_unsupported_reason(module.error());
    return 0;
  }
  const bool verifies = fuzz::use_module(*module);
  if (verifies && module->level == Level::kTyped) fuzz::run_middle_stages(std::move(*module));
  return 0;
}
