// The counts of fusion passes as the documents have them: fusion_result.json, with match_times and
// effect_times of each pass, and of each rule as "mine.rules/NAME".
#pragma once

#include <string>

#include "common/base/json.h"
#include "common/base/result.h"

namespace sluice {

// Returns {"session_and_graph_id_0_0": {"graph_fusion": {"fuse-gelu": {"effect_times": "1",
// "match_times": "1"}}, "ub_fusion": {}}} of the statistics of the stages. graph_fusion has passes
// of sluice-preprocess and sluice-optimize, ub_fusion those of later stages; passes that matched
// nothing are left out, rules are not.
Json compile_stat(const Json::Array& stages);

// Returns the file that a value of --export-compile-stat means: none for 0; fusion_result.json
// beside the output for 1 and 2; any other is the path itself. Error: kBadOption for 1 and 2
// without an output in a folder.
Result<std::string> compile_stat_path(const std::string& value, const std::string& output);

}  // namespace sluice
