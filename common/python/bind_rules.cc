// Patterns: searched, replaced and explained by the matcher of rules.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "common/python/bindings.h"
#include "common/rules/explain_rules.h"
#include "common/rules/open_rules.h"

namespace sluice::python {
namespace {

struct PythonMatch {
  std::string rule;
  size_t pattern = 0;
  std::vector<std::pair<std::string, ValueHandle>> values;
  std::vector<std::pair<std::string, double>> numbers;
  std::vector<NodeHandle> nodes;
};

PythonMatch match_of(const Box& box, const rules::Rule& rule, const rules::Match& match) {
  PythonMatch made{
      .rule = rule.name, .pattern = match.pattern, .values = {}, .numbers = {}, .nodes = {}};
  for (size_t i = 0; i < rule.values.size() && i < match.bindings.values.size(); ++i)
    if (match.bindings.values[i] != nullptr)
      made.values.emplace_back(rule.values[i], handle(box, *match.bindings.values[i]));
  for (size_t i = 0; i < rule.numbers.size() && i < match.bindings.numbers.size(); ++i)
    if (match.bindings.numbers[i])
      made.numbers.emplace_back(rule.numbers[i], *match.bindings.numbers[i]);
  for (Node* node : match.nodes) made.nodes.push_back(handle(box, *node));
  return made;
}

// While a pattern is searched, the graph must not change.
class Searching {
 public:
  explicit Searching(ModuleBox& box) : box_(box), before_(box.is_searched) {
    box.begin_edit();
    box.is_searched = true;
  }
  ~Searching() { box_.is_searched = before_; }
  Searching(const Searching&) = delete;
  Searching& operator=(const Searching&) = delete;

 private:
  ModuleBox& box_;
  bool before_;
};

using Accepts = std::function<bool(const PythonMatch&)>;
using Answer = std::optional<std::pair<std::string, std::map<std::string, ValueHandle>>>;
using Replace = std::function<Answer(const PythonMatch&)>;

rules::OpenReplacer replacer_of(const Box& box, const Accepts& accepts, const Replace& replace) {
  return {[=](const rules::Rule& rule, const rules::Match& match) {
            return !accepts || accepts(match_of(box, rule, match));
          },
          [=](const rules::Rule& rule,
              const rules::Match& match) -> std::optional<rules::OwnReplacement> {
            const Answer answer = replace(match_of(box, rule, match));
            if (!answer) return std::nullopt;
            rules::OwnReplacement own{.lines = answer->first, .values = {}};
            for (const auto& [name, value] : answer->second)
              own.values.emplace_back(name, &value_of(value));
            return own;
          }};
}

py::list counts_of(const std::vector<RuleCount>& counts) {
  py::list rows;
  for (const RuleCount& count : counts)
    rows.append(
        py::make_tuple(count.rule, count.times.matches, count.times.effects, count.obstacle));
  return rows;
}

py::tuple rewrite(const Box& box, const std::string& text, const std::string& name,
                  const Accepts& accepts, const Replace& replace) {
  const rules::RuleFile file = check(rules::parse_open_rules(text, name));
  if (!box->module.has_graph(0))
    fail(make_error(ErrorCode::kBadGraph, "the module has no graph: add_graph begins it"));
  std::vector<RuleCount> counts;
  bool changed = false;
  {
    const Searching searching(*box);
    changed = check(rules::apply_open_rules(box->module.root(), file,
                                            replacer_of(box, accepts, replace), counts));
  }
  box->forget_facts();
  if (changed) ++box->edits;
  return py::make_tuple(changed, counts_of(counts));
}

std::vector<PythonMatch> search(const GraphHandle& graph, const std::string& text,
                                const std::string& name) {
  const rules::RuleFile file = check(rules::parse_open_rules(text, name));
  Graph& target = graph_of(graph);
  check(target.restore_order());
  const OpIndex index(target);
  std::vector<PythonMatch> matches;
  for (const rules::Rule& rule : file.rules) {
    rules::Matcher matcher(rule, index);
    for (const Op op : matcher.root_ops()) {
      for (Node* node : index.nodes(op)) {
        const auto keep = [&](const rules::Match& match) {
          matches.push_back(match_of(graph.box, rule, match));
          return true;
        };
        matcher.match_at(*node, keep);
      }
    }
  }
  return matches;
}

py::list explain(const Box& box, const std::string& text, const std::string& name,
                 const std::string& node) {
  const rules::RuleFile file = check(rules::parse_open_rules(text, name));
  if (!box->module.has_graph(0)) return py::list();
  box->restore_order();
  py::list rows;
  for (const rules::RuleFinding& each : rules::explain_rules(box->module.root(), file, "", node))
    rows.append(
        py::make_tuple(each.rule, each.matches, each.reason, each.node, each.placed, each.lines));
  return rows;
}

}  // namespace

void bind_rules(py::module_& m) {
  py::class_<PythonMatch>(m, "RuleMatch")
      .def_readonly("rule", &PythonMatch::rule)
      .def_readonly("pattern", &PythonMatch::pattern)
      .def_readonly("values", &PythonMatch::values)
      .def_readonly("numbers", &PythonMatch::numbers)
      .def_readonly("nodes", &PythonMatch::nodes);
  m.def("rewrite", &rewrite);
  m.def("search", &search);
  m.def("explain", &explain);
}

}  // namespace sluice::python
