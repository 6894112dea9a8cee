#include "orchestrator/compile/compile_stat.h"

namespace sluice {
namespace {

int64_t number_of(const Json& json, std::string_view member) {
  const Json* found = json.find(member);
  const int64_t* number = found == nullptr ? nullptr : found->as_int();
  return number == nullptr ? 0 : *number;
}

std::string text_in_json(const Json& json, std::string_view member) {
  const Json* found = json.find(member);
  const std::string* text = found == nullptr ? nullptr : found->as_string();
  return text == nullptr ? std::string() : *text;
}

// Counts are texts, as in the documents.
Json counts_of(const Json& counted) {
  Json counts;
  counts.set("effect_times", fmt::format("{}", number_of(counted, "effect_times")));
  counts.set("match_times", fmt::format("{}", number_of(counted, "match_times")));
  return counts;
}

void add_pass(const Json& pass, Json& fusions) {
  const std::string name = text_in_json(pass, "name");
  const Json* work = pass.find("work");
  if (work != nullptr && number_of(*work, "match_times") > 0) fusions.set(name, counts_of(*work));
  const Json* rules = pass.find("rules");
  if (rules == nullptr || rules->as_array() == nullptr) return;
  for (const Json& rule : *rules->as_array())
    fusions.set(fmt::format("{}/{}", name, text_in_json(rule, "rule")), counts_of(rule));
}

}  // namespace

Json compile_stat(const Json::Array& stages) {
  Json graph{Json::Object{}}, later{Json::Object{}};
  for (const Json& stage : stages) {
    const std::string name = text_in_json(stage, "stage");
    const bool is_whole = name == "preprocess" || name == "optimize";
    const Json* passes = stage.find("passes");
    if (passes == nullptr || passes->as_array() == nullptr) continue;
    for (const Json& pass : *passes->as_array()) add_pass(pass, is_whole ? graph : later);
  }
  Json fusions, whole;
  fusions.set("graph_fusion", std::move(graph));
  fusions.set("ub_fusion", std::move(later));
  whole.set("session_and_graph_id_0_0", std::move(fusions));
  return whole;
}

Result<std::string> compile_stat_path(const std::string& value, const std::string& output) {
  if (value.empty() || value == "0") return std::string();
  if (value != "1" && value != "2") return value;
  if (output == "-" || output.empty()) {
    return make_error(ErrorCode::kBadOption,
                      "--export-compile-stat={} writes fusion_result.json beside the file of -o, "
                      "and there is none",
                      value)
        .with_hint("give -o FILE, or --export-compile-stat=FILE");
  }
  const size_t slash = output.find_last_of('/');
  return (slash == std::string::npos ? "" : output.substr(0, slash + 1)) + "fusion_result.json";
}

}  // namespace sluice
