// Takes a file of rules. One that parses is tried on a graph: what it makes verifies.
#include "common/base/memory.h"
#include "common/rules/apply_rules.h"
#include "common/rules/explain_rules.h"
#include "common/rules/rule_parser.h"
#include "common/text/text.h"
#include "tests/fuzz/fuzz_target.h"

namespace sluice {
namespace {

constexpr char kGraph[] = R"(sluice 1 typed
graph @main(%x: f32[2, 3], %w: f32[3, 4], %c: f32[4]) -> (%y, %z) {
  %half = constant f32[] [0.5]
  %p: f32[2, 4] = MatMul(%x, %w)
  %q: f32[2, 4] = Add(%c, %p)
  %s: f32[2, 4] = Sigmoid(%q)
  %t: f32[2, 4] = Mul(%s, %q)
  %u: f32[2, 4] = Mul(%t, %half)
  %e: f32[2, 4] = Exp(%u)
  %v: f32[2, 4] = Log(%e)
  %y: f32[2, 4] = Softmax(%v)
  %z: f32[4, 2] = Transpose(%e)
}
)";

Result<void> use(const rules::RuleFile& file) {
  SLUICE_ASSIGN(Module module, parse_module(kGraph, "graph"));
  static_cast<void>(rules::explain_rules(module.root(), file, "", ""));
  std::vector<RuleCount> counts;
  SLUICE_TRY(rules::apply_rules(module.root(), file, counts));
  SLUICE_TRY(module.root().restore_order());
  module.compact();
  if (!fuzz::use_module(module)) fuzz::finding("a graph does not verify", print_module(module));
  return {};
}

}  // namespace
}  // namespace sluice

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice;
  const auto done = within_memory([&]() -> Result<void> {
    SLUICE_ASSIGN(const rules::RuleFile file,
                  rules::parse_rules(fuzz::text_of(data, size), "fuzzed.rules"));
    return use(file);
  });
  if (!done) fuzz::expect_unsupported_reason(Result<void>(done).error());
  return 0;
}
