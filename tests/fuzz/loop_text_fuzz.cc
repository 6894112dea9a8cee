// Takes a text of loops. One that verifies is printed; what is printed parses, verifies and prints
// again the same.
#include "common/base/memory.h"
#include "common/loop/text.h"
#include "common/loop/verify.h"
#include "tests/fuzz/fuzz_target.h"

namespace sluice {
namespace {

Result<loop::LoopGraph> read(std::string_view text) {
  SLUICE_ASSIGN(loop::LoopGraph graph, loop::parse_loops(text, "fuzzed"));
  SLUICE_TRY(loop::verify(graph));
  return graph;
}

Result<void> use(const loop::LoopGraph& graph) {
  const std::string text = loop::print_loops(graph);
  const auto again = read(text);
  if (!again) fuzz::finding("printed loops are refused: " + again.error().message, text);
  const std::string printed = loop::print_loops(*again);
  if (printed != text) fuzz::finding("loops change when they are printed", text + printed);
  return {};
}

}  // namespace
}  // namespace sluice

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice;
  const auto done = within_memory([&]() -> Result<void> {
    SLUICE_ASSIGN(const loop::LoopGraph graph, read(fuzz::text_of(data, size)));
    return use(graph);
  });
  if (!done) fuzz::expect_unsupported_reason(Result<void>(done).error());
  return 0;
}
