// What a search found, as text and as JSON.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/base/json.h"
#include "common/base/result.h"
#include "orchestrator/bisect/find_node.h"

namespace sluice {

struct Finding {
  std::string stage, pass;
  std::string rule;           // of a pass that is a file of rules, where it is known
  size_t number = 0, of = 0;  // of the pass; of: 0 when it is not known
  // The graph after the pass cannot be made or evaluated. Then nothing below is known but `before`.
  std::optional<Error> failure;
  Json output;  // the difference of an output: differing_output
  // The first node whose value differs, with the difference.
  std::optional<std::pair<Json, FoundNode>> node;
  std::string before, after;  // graph files that are kept; empty: none
};

std::string finding_text(const Finding& finding);
std::string finding_json(const Finding& finding);

// The text when no pass is found. drifting: stages whose passes change values together only.
std::string nothing_text(const std::vector<std::string>& drifting, const std::string& tolerance);
std::string nothing_json(const std::vector<std::string>& drifting);

}  // namespace sluice
