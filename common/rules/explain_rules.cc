#include "common/rules/explain_rules.h"

#include <algorithm>
#include <set>

#include "common/pass/editor.h"
#include "common/rules/matcher.h"
#include "fmt/ranges.h"

namespace sluice::rules {
namespace {

bool is_named(const Node& node, const std::string& name) {
  if (name.empty() || node.name() == name) return true;
  for (size_t i = 0; i < node.output_count(); ++i) {
    if (node.output(i).name() == name) return true;
  }
  return false;
}

std::string match_text(const Match& match) {
  std::vector<std::string> labels;
  for (auto node = match.nodes.rbegin(); node != match.nodes.rend(); ++node)
    labels.push_back((*node)->label());
  return fmt::format("{}", fmt::join(labels, ", "));
}

class Explanation {
 public:
  Explanation(const Rule& rule, const std::string& node, RuleFinding& finding)
      : rule_(rule), node_(node), finding_(finding) {}

  void search(const Graph& graph) {
    const OpIndex index(graph);
    Matcher matcher(rule_, index);
    const auto found = [&](const Match& match) {
      const bool is_asked = std::ranges::any_of(
          match.nodes, [&](const Node* each) { return is_named(*each, node_); });
      // The same nodes match once, whatever the order of operands.
      if (is_asked && seen_.emplace(match.nodes.begin(), match.nodes.end()).second)
        finding_.matches.push_back(match_text(match));
      return false;
    };
    for (const Op op : matcher.root_ops()) {
      for (Node* node : index.nodes(op)) {
        matcher.match_at(*node, found, node_.empty() || is_named(*node, node_) ? &trace_ : nullptr);
      }
    }
    if (!finding_.matches.empty()) return;
    for (Node& node : graph.nodes()) {
      if (is_named(node, node_)) matcher.explain_at(node, trace_);
    }
  }

  void finish() {
    for (const Pattern& pattern : rule_.patterns)
      finding_.lines = std::max(finding_.lines, pattern.statements.size());
    finding_.reason = trace_.reason;
    finding_.placed = trace_.placed;
    if (trace_.node != nullptr) finding_.node = trace_.node->label();
  }

 private:
  const Rule& rule_;
  const std::string& node_;
  RuleFinding& finding_;
  PartialMatch trace_;
  std::set<std::vector<Node*>> seen_;
};

}  // namespace

std::vector<RuleFinding> explain_rules(Graph& root, const RuleFile& file, const std::string& rule,
                                       const std::string& node) {
  std::vector<RuleFinding> findings;
  for (const Rule& each : file.rules) {
    if (!rule.empty() && each.name != rule) continue;
    RuleFinding& finding = findings.emplace_back();
    finding.rule = each.name;
    Explanation explanation(each, node, finding);
    static_cast<void>(on_every_graph(root, [&](Graph& graph) -> Result<bool> {
                        explanation.search(graph);
                        return false;
                      }).ok());
    explanation.finish();
  }
  return findings;
}

}  // namespace sluice::rules
