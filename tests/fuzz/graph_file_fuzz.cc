// Takes a .sg file: reads, verifies by its level, prints and writes it; a typed graph that verifies
// also goes through the middle stages.
#include "common/base/memory.h"
#include "common/graphfile/graphfile.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/graph_file.h"

namespace {

using namespace sluice;

using Bytes = std::vector<std::byte>;

void use(Bytes bytes) {
  auto module = within_memory(
      [&] { return read_graph(std::make_shared<const Bytes>(std::move(bytes)), "fuzzed"); });
  if (!module) return fuzz::expect_unsupported_reason(module.error());
  const bool verifies = fuzz::use_module(*module);
  if (verifies && module->level == Level::kTyped) fuzz::run_middle_stages(std::move(*module));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto span = fuzz::bytes_of(data, size);
  Bytes bytes(span.begin(), span.end());
  static_cast<void>(parse_graph_header(bytes));
  fuzz::seal_graph(bytes);
  use(std::move(bytes));
  return 0;
}
