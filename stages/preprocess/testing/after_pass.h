// Runs one pass on a textual graph and prints the result.
#pragma once

#include <string>

#include "common/text/text.h"
#include "common/verify/verify.h"
#include "stages/preprocess/passes/passes.h"

namespace sluice {

// Returns the graph's text after the pass, verified; "unchanged" when the pass said so, "error: …"
// when it failed.
inline std::string after_pass(Result<bool> (*pass)(Graph&, const Options&), const std::string& text,
                              const Options& options = {}) {
  auto module = parse_module("sluice 1 typed\n" + text, "test");
  if (!module) return "does not parse: " + module.error().message;
  auto changed = pass(module->root(), options);
  if (!changed) return "error: " + changed.error().message;
  module->compact();
  if (auto verified = verify(*module, Level::kTyped); !verified)
    return "does not verify: " + verified.error().message;
  const std::string after = print_module(*module);
  if (!*changed)
    return after == "sluice 1 typed\n" + text ? "unchanged"
                                              : "changed without saying so:\n" + after;
  return after.substr(std::string("sluice 1 typed\n").size());
}

}  // namespace sluice
