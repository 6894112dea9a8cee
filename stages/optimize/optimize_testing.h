// Tests of passes: a textual graph in, a textual graph out.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "common/pass/pass.h"
#include "common/text/text.h"

namespace sluice {

using PassFunction = Result<bool> (*)(Graph& root, const Options& options);

// The text behind the first line after the pass ran once; the pass must say truly whether it changed something, and its result verify.
inline std::string rewritten(PassFunction pass, const std::string& body) {
  const std::string text = "sluice 1 typed\n" + body;
  auto module = parse_module(text, "test");
  if (!module) return error_text(module.error());
  module->compact();
  const std::string before = print_module(*module);
  const Pass table[] = {{"pass", "the pass under test", pass, PassLevel::kO0}};
  Options options;
  if (!options.set("verify", "each")) return "no option verify";
  const auto report = run_passes(*module, table, options);
  if (!report) return error_text(report.error());
  module->compact();
  const std::string after = print_module(*module);
  EXPECT_EQ(report->at(0).changed, after != before) << after;
  return after.substr(after.find('\n') + 1);
}

inline void expect_rewrite(PassFunction pass, const std::string& before, const std::string& after) {
  EXPECT_EQ(rewritten(pass, before), after);
}

inline void expect_unchanged(PassFunction pass, const std::string& text) { EXPECT_EQ(rewritten(pass, text), text); }

}  // namespace sluice
