// The end of a search: whether what was found meets the conditions and can be replaced.
#include <algorithm>

#include "common/pass/can_fuse.h"
#include "common/rules/search.h"

namespace sluice::rules {
namespace {

// Returns the first value of the rule that a term is about, -1 when there is none.
int32_t first_value(const Term& term) {
  if (term.kind == Term::Kind::kValue) return term.value;
  for (const Term& each : term.terms) {
    if (const int32_t found = first_value(each); found >= 0) return found;
  }
  return -1;
}

}  // namespace

bool Search::conditions_hold() {
  held_ = 0;
  for (const Term& condition : rule_.conditions) {
    if (!condition_holds(condition, rule_, bindings_)) {
      const int32_t subject = first_value(condition);
      const Value* value = subject < 0 ? nullptr : bindings_.values[static_cast<size_t>(subject)];
      const Node* maker = value == nullptr ? nullptr : value->producer();
      fail(maker != nullptr ? maker : used_.back(), [&] {
        return broken_condition(condition, rule_, bindings_) +
               (value == nullptr
                    ? std::string()
                    : fmt::format(", where {} is {}", shown(subject), described(value)));
      });
      return false;
    }
    ++held_;
  }
  ++held_;
  return true;
}

// Returns whether a result that the rule does not replace is read outside.
bool Search::stays(const Node& node) const {
  for (size_t i = 0; i < node.output_count(); ++i) {
    const Value& value = node.output(i);
    const bool is_replaced = std::ranges::any_of(rule_.outputs, [&](int32_t output) {
      return bindings_.values[static_cast<size_t>(output)] == &value;
    });
    if (is_replaced) continue;
    if (value.is_output()) return true;
    for (const Use& use : value.uses()) {
      if (std::ranges::find(used_, use.node) == used_.end()) return true;
    }
  }
  return false;
}

// Takes those nodes out that stay for other readers, with what they read, where the rule says
// "shared"; false where it does not.
bool Search::split_kept(std::vector<Node*>& nodes) {
  std::vector<Node*> kept;
  for (size_t i = 0; i < used_.size(); ++i) {
    if (!stays(*used_[i])) continue;
    if (!pattern_.statements[used_for_[i]].shared) {
      fail(used_[i], [&] {
        return fmt::format("the result of {} is read by others, which the rule does not replace",
                           used_[i]->label());
      });
      return false;
    }
    kept.push_back(used_[i]);
  }
  for (size_t next = 0; next < kept.size(); ++next) {
    for (size_t i = 0; i < kept[next]->input_count(); ++i) {
      Node* before = kept[next]->input(i) == nullptr ? nullptr : kept[next]->input(i)->producer();
      if (std::ranges::find(used_, before) != used_.end() &&
          std::ranges::find(kept, before) == kept.end())
        kept.push_back(before);
    }
  }
  for (Node* node : used_) {
    if (std::ranges::find(kept, node) == kept.end()) nodes.push_back(node);
  }
  return true;
}

bool Search::can_go(const std::vector<Node*>& nodes) {
  std::string reason;
  for (const Node* node : nodes) {
    if (!node->placement.keep) continue;
    fail(node, [&] { return fmt::format("{} is marked to be kept", node->label()); });
    return false;
  }
  const bool may_cycle = rule_.outputs.size() > 1 || nodes.size() < used_.size() ||
                         nodes[0]->graph().may_have_control_edges();
  if (may_cycle ? can_fuse(nodes, reason) : have_one_plan(nodes, reason)) return true;
  fail(nodes.back(), [&] { return fmt::format("the nodes cannot be replaced: {}", reason); });
  return false;
}

bool Search::finish() {
  if (!conditions_hold()) {
    held_ = 0;
    return false;
  }
  for (size_t i = 0; i < pattern_.makers.size(); ++i) {
    const Value* value = bindings_.values[i];
    if (pattern_.makers[i] >= 0 || value == nullptr ||
        std::ranges::find(used_, value->producer()) == used_.end())
      continue;
    fail(value->producer(), [&] {
      return fmt::format("{} is made by {}, inside the match", shown(static_cast<int32_t>(i)),
                         value->producer()->label());
    });
    held_ = 0;
    return false;
  }
  Match match{.bindings = bindings_, .nodes = {}, .pattern = number_};
  bool solved = split_kept(match.nodes);
  std::ranges::sort(match.nodes, [](const Node* a, const Node* b) { return a->is_before(*b); });
  solved = solved && !match.nodes.empty() && can_go(match.nodes) && found_(match);
  held_ = 0;
  return solved;
}

}  // namespace sluice::rules
