// What sluice-rules does beyond its command line.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/rules/rule.h"

namespace sluice {

// Reads a graph as it is; brings an ONNX model to the place of the rules by sluice compile, with
// these options. Errors: those of reading; kStageFailed with the output of the compile.
Result<Module> module_at_rules(const rules::RuleFile& file, const std::string& path,
                               const std::vector<std::string>& options);

struct RuleQuestion {
  std::string rule;  // empty: all
  std::string node;  // empty: everywhere
  bool wants_reasons = false;
  bool is_json = false;
};

// Errors: kBadOption for a rule or a node that is not there.
Result<std::string> answer_text(Module& module, const rules::RuleFile& file,
                                const RuleQuestion& question);

}  // namespace sluice
