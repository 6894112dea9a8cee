// Passes: free functions in a visible table per stage. run_passes does everything else.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/base/work.h"
#include "common/ir/module.h"

namespace sluice {

// A level includes those before it: --opt-level=O1 runs kO0 and kO1.
enum class PassLevel : uint8_t { kO0, kO1, kO3 };

// What one rule of a pass did.
struct RuleCount {
  struct Times {
    uint64_t matches = 0;
    uint64_t effects = 0;
  };
  std::string rule;
  Times times;
  std::vector<Times> patterns;  // of each of its alternatives
  std::string obstacle;         // why the first match that was not replaced was not
};

// The text of rules that a pass consists of (common/rules), and how to run them.
struct PassRules {
  std::string_view text;
  std::string_view digest;  // of a user's file; it names the text in graphs that stop half-way
  Result<bool> (*apply)(Graph& graph, std::string_view name, std::string_view text,
                        std::vector<RuleCount>& counts) = nullptr;
};

// A pass that is a file of a user's own (common/passes_host).
struct OwnPass {
  std::string_view digest;
  // Runs it in another process; it may put another graph in the place of the module's.
  const std::function<Result<bool>(Module& module, std::vector<RuleCount>& counts)>* run = nullptr;
};

struct Pass {
  std::string_view name;      // "fold-reshape-chain": flag, file and function have the same name
  std::string_view sentence;  // for --list-passes
  // Returns true when it changed the graph; called for the root. Null for a pass of rules, and of a
  // user.
  Result<bool> (*run)(Graph& graph, const Options& options);
  PassLevel level = PassLevel::kO3;
  PassRules rules = {};
  OwnPass own = {};
};

struct PassReport {
  std::string name;
  double seconds = 0;
  uint64_t nodes_before = 0;
  uint64_t nodes_after = 0;
  bool changed = false;
  WorkCounts work{};
  std::vector<RuleCount> rules = {};  // of a pass of rules, or of a user
};

// Reports work that is not a pass of a table (import, planning) as a separate pass: time and
// counters from construction to done().
class WorkReport {
 public:
  explicit WorkReport(std::string_view name, uint64_t nodes_before = 0);
  PassReport done(const Module& module, bool changed = true);

 private:
  PassReport report_;
  WorkCounts before_;
  std::chrono::steady_clock::time_point start_;
};

// Runs a stage's passes in order, except those that the options opt-level, passes and skip exclude.
// Stops after --stop-after (which sets module.passes and passes_done) and resumes a module that was
// stopped at that point; such a module rejects other options (kBadOption). After each pass it
// restores the node order, erases unowned graphs, verifies the graph under --verify=each, and in
// debug builds proves the changed bit by digest. Writes --dump-dir. An error is prefixed with the
// pass's name. A cycle that a pass made, and a failure of our own verifier after our own pass, are
// kInternal; after a pass of a user they are kPassFailed.
Result<std::vector<PassReport>> run_passes(Module& module, std::span<const Pass> passes,
                                           const Options& options);

}  // namespace sluice
