#include "orchestrator/bisect/finding.h"

#include <cmath>

#include "common/base/readable_text.h"
#include "common/base/shell_word.h"
#include "fmt/ranges.h"
#include "orchestrator/bisect/json_members.h"
#include "orchestrator/bisect/values.h"

namespace sluice {
namespace {

constexpr double kPercent = 100;

std::string pass_text(const Finding& finding) {
  const std::string of = finding.of == 0 ? "" : fmt::format(" of {}", finding.of);
  const std::string rule = finding.rule.empty() ? "" : fmt::format(", rule {}", finding.rule);
  return fmt::format("{}: {}{} (pass {}{})", finding.stage, finding.pass, rule, finding.number, of);
}

// Returns "0.5123 before, 0.4871 after, off by 0.0252 (4.9 % of the largest)".
std::string difference_text(const Json& difference) {
  if (difference.find("a") == nullptr) return text_in(difference, "text");
  const double share = number_of(difference, "apart") / number_of(difference, "largest");
  const std::string percent =
      std::isfinite(share) ? fmt::format(" ({:.3g} % of the largest)", share * kPercent) : "";
  return fmt::format("{} before, {} after, off by {}{}", number_text(difference, "a"),
                     number_text(difference, "b"), number_text(difference, "apart"), percent);
}

std::string node_text(const FoundNode& node) {
  std::string text = fmt::format("'{}' ({})", node.name, node.op);
  if (!node.origins.empty()) text += fmt::format(" [from '{}']", fmt::join(node.origins, "', '"));
  return readable_text(text);
}

std::string graphs_text(const Finding& finding) {
  if (finding.before.empty()) return {};
  const std::string before = shell_word(finding.before);
  if (finding.after.empty()) return fmt::format("  the graph before it: {}\n", before);
  const std::string after = shell_word(finding.after);
  return fmt::format("  the graphs: {}, {}\n  sluice diff {} {}\n", before, after, before, after);
}

Json difference_json(const Json& difference) {
  Json json;
  for (const auto& [name, value] : *difference.as_object())
    json.set(name == "a" ? "before" : name == "b" ? "after" : name, value);
  return json;
}

Json node_json(const std::pair<Json, FoundNode>& found) {
  const auto& [difference, node] = found;
  Json json;
  json.set("name", node.name);
  json.set("op", node.op);
  json.set("from", Json::Array(node.origins.begin(), node.origins.end()));
  json.set("value", difference_json(difference));
  return json;
}

Json failure_json(const Error& failure) {
  Json json;
  json.set("code", fmt::format("SL{:04}", static_cast<int>(failure.code)));
  json.set("message", failure.message);
  return json;
}

}  // namespace

std::string finding_text(const Finding& finding) {
  if (finding.failure) {
    return fmt::format("{} makes a graph that cannot be evaluated: {}\n{}", pass_text(finding),
                       error_text(*finding.failure), graphs_text(finding));
  }
  std::string text =
      fmt::format("{} gives other values\n  output '{}': {}\n", pass_text(finding),
                  readable_text(text_in(finding.output, "name")), difference_text(finding.output));
  if (finding.node) text += fmt::format("  first node: {}\n", node_text(finding.node->second));
  return text + graphs_text(finding);
}

std::string finding_json(const Finding& finding) {
  Json json;
  json.set("found", true);
  json.set("stage", finding.stage);
  json.set("pass", finding.pass);
  if (!finding.rule.empty()) json.set("rule", finding.rule);
  json.set("number", uint64_t{finding.number});
  if (finding.of > 0) json.set("of", uint64_t{finding.of});
  if (finding.failure) {
    json.set("error", failure_json(*finding.failure));
  } else {
    json.set("output", difference_json(finding.output));
    json.set("node", finding.node ? node_json(*finding.node) : Json());
  }
  if (!finding.before.empty()) json.set("before", finding.before);
  if (!finding.after.empty()) json.set("after", finding.after);
  return json_dump(json, 2) + "\n";
}

std::string nothing_text(const std::vector<std::string>& drifting, const std::string& tolerance) {
  std::string text = fmt::format(
      "no pass gives other values: outputs differ by at most {} of the largest\n", tolerance);
  for (const std::string& stage : drifting)
    text += fmt::format("  {}: all passes together do, none of them by itself\n", stage);
  return text;
}

std::string nothing_json(const std::vector<std::string>& drifting) {
  Json json;
  json.set("found", false);
  json.set("together", Json::Array(drifting.begin(), drifting.end()));
  return json_dump(json, 2) + "\n";
}

}  // namespace sluice
