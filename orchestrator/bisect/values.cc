#include "orchestrator/bisect/values.h"

#include <algorithm>
#include <cmath>

#include "orchestrator/bisect/child.h"
#include "orchestrator/bisect/json_members.h"

namespace sluice {
namespace {

struct Comparison {
  std::vector<Json> differing;
  std::vector<Json> missing;  // names that only one side has
};

Result<Comparison> compare(const BisectRequest& request, const std::string& a,
                           const std::string& b) {
  SLUICE_ASSIGN(const ChildResult diff,
                run_child("diff", {"--values", "--format=json", "--limit=0",
                                   "--tolerance=" + request.tolerance, a, b}));
  if (diff.error) return *diff.error;
  SLUICE_ASSIGN(const Json json, json_parse(diff.output));
  Comparison comparison{.differing = list_in(json, "values"), .missing = list_in(json, "only_a")};
  for (const Json& name : list_in(json, "only_b")) comparison.missing.push_back(name);
  return comparison;
}

// Returns how far apart the two are, for their size; of other types that is infinite.
double share(const Json& difference) {
  const double largest = number_of(difference, "largest");
  return largest > 0 && std::isfinite(largest) ? number_of(difference, "apart") / largest
                                               : HUGE_VAL;
}

Json missing_output(const Json& name) {
  Json json;
  json.set("name", name);
  json.set("text", "only one of the graphs has it");
  return json;
}

}  // namespace

Result<std::optional<Error>> evaluate_graph_file(const BisectRequest& request,
                                                 const std::string& graph, ValuesKept kept,
                                                 const std::string& folder) {
  std::vector<std::string> arguments = {"--random=" + request.seed};
  for (const std::string& binding : request.bindings) arguments.push_back("--input=" + binding);
  for (const std::string& size : request.sizes) arguments.push_back("--dim=" + size);
  for (const std::string& option : request.options.non_semantic)
    if (option.starts_with("--max-constant-bytes=")) arguments.push_back(option);
  if (!request.store.empty()) arguments.push_back("--store=" + request.store);
  if (!request.model.empty()) arguments.push_back("--model=" + request.model);
  const char* what = kept == ValuesKept::kAll ? "--dump-values=" : "--output-dir=";
  arguments.insert(arguments.end(), {what + folder, graph});
  SLUICE_ASSIGN(ChildResult run, run_child("eval", std::move(arguments)));
  if (run.error && !is_about_work(*run.error)) return *std::move(run.error);
  return std::move(run.error);
}

Result<std::vector<Json>> differing_values(const BisectRequest& request, const std::string& a,
                                           const std::string& b) {
  SLUICE_ASSIGN(Comparison found, compare(request, a, b));
  return std::move(found.differing);
}

Result<std::optional<Json>> differing_output(const BisectRequest& request,
                                             const std::string& before, const std::string& after) {
  Result<Comparison> found = compare(request, before, after);
  if (!found && found.error().code == ErrorCode::kBadBinding)  // they have no name in common
    return std::optional<Json>(missing_output("every output"));
  if (!found) return std::move(found).error();
  if (!found->missing.empty()) return std::optional<Json>(missing_output(found->missing[0]));
  const auto less = [](const Json& a, const Json& b) { return share(a) < share(b); };
  const auto worst = std::ranges::max_element(found->differing, less);
  return worst == found->differing.end() ? std::optional<Json>() : *worst;
}

double number_of(const Json& difference, const char* name) {
  const Json* number = difference.find(name);
  return number == nullptr ? HUGE_VAL : number->number().value_or(HUGE_VAL);
}

std::string number_text(const Json& difference, const char* name) {
  const Json* number = difference.find(name);
  if (number == nullptr) return {};
  if (const std::string* text = number->as_string()) return *text;  // "nan"
  return fmt::format("{:.6g}", number_of(difference, name));
}

}  // namespace sluice
