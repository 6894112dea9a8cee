// Takes the JSON of a device profile.
#include "common/base/memory.h"
#include "common/target/profile.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice;
  auto profile = within_memory([&] { return parse_profile(fuzz::text_of(data, size)); });
  if (!profile) fuzz::expect_unsupported_reason(profile.error());
  return 0;
}
