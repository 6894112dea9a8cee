// The files of --rules as passes of a stage.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/pass/pass.h"
#include "common/rules/rule.h"

namespace sluice::rules {

// Reads and parses a file. Errors: kNotFound, kLimit, kBadText.
Result<RuleFile> read_rule_file(const std::string& path);

// A row of a stage's table that consists of rules: a pass of our own.
constexpr Pass rule_pass(std::string_view name, std::string_view sentence, std::string_view text);

// Parses and applies a text of rules: PassRules::apply.
Result<bool> apply_rule_text(Graph& root, std::string_view name, std::string_view text,
                             std::vector<RuleCount>& counts);

constexpr Pass rule_pass(std::string_view name, std::string_view sentence, std::string_view text) {
  return {name, sentence, nullptr, PassLevel::kO3, {text, {}, apply_rule_text}};
}

// Returns the operators of other domains that patterns in the files of --rules name:
// "com.acme::Gelu". Errors: those of reading the files.
Result<std::vector<std::string>> foreign_ops(const Options& options);

// A table of passes with a row for each file of --rules whose place is in it, behind the pass that
// the file names. Files of other stages are left out.
class RuleRows {
 public:
  // Without --unchecked-rules each file is checked by its values (check_rules.h); with --store
  // once, and what was checked is noted there. Errors: kBadOption for two files of one name, or a
  // place that no stage has; those of reading and checking.
  static Result<RuleRows> load(std::span<const Pass> table, StageId stage, const Options& options);

  std::span<const Pass> passes() const { return passes_; }

 private:
  struct Entry {
    RuleFile file;
    std::string digest, sentence;
  };
  std::vector<std::unique_ptr<Entry>> entries_;  // passes_ refers to them
  std::vector<Pass> passes_;
};

}  // namespace sluice::rules
