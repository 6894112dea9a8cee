#include "common/pass/pattern_matcher.h"

#include <algorithm>
#include <set>

#include "common/base/work.h"
#include "common/ops/op_table.h"
#include "common/pass/constant_match.h"

namespace sluice {
namespace {

bool is_commutative(const Node& node) {
  const OpRow* row = find_op(node.op());
  return node.input_count() == 2 && node.input(0) != nullptr && node.input(1) != nullptr &&
         row != nullptr && (row->flags & kCommutative) != 0;
}

// Returns true when the inputs of a match are made outside it.
bool has_outer_inputs(const Graph& pattern, const Match& match,
                      const std::set<const Node*>& inside) {
  return std::none_of(pattern.inputs().begin(), pattern.inputs().end(), [&](const Value* input) {
    return inside.contains(match.value(*input).producer());
  });
}

}  // namespace

OpIndex::OpIndex(const Graph& graph) : nodes_(static_cast<size_t>(op_count())) {
  for (Node& node : graph.nodes()) nodes_[static_cast<size_t>(node.op())].push_back(&node);
}

Value* Match::captured(std::string_view name) const {
  for (const Value& value : pattern_->graph().values()) {
    if (!value.is_erased() && value.name() == name) return values_[static_cast<size_t>(value.id())];
  }
  return nullptr;
}

Boundary Match::boundary() const {
  Boundary boundary;
  for (const Node& node : pattern_->graph().nodes()) boundary.nodes.push_back(&this->node(node));
  std::sort(boundary.nodes.begin(), boundary.nodes.end(),
            [](const Node* a, const Node* b) { return a->is_before(*b); });
  for (const Value* input : pattern_->graph().inputs()) boundary.inputs.push_back(&value(*input));
  for (const Value* output : pattern_->graph().outputs())
    boundary.outputs.push_back(&value(*output));
  return boundary;
}

PatternMatcher::PatternMatcher(const Pattern& pattern, const OpIndex& index, MatchOptions options)
    : pattern_(pattern), index_(index), options_(options), refused_(!pattern.obstacle().empty()) {}

std::optional<Match> PatternMatcher::match_next() {
  if (refused_) return std::nullopt;
  const std::vector<Node*>& mains = index_.nodes(pattern_.graph().outputs()[0]->producer()->op());
  while (true) {
    while (!found_.empty()) {
      Match match = std::move(found_.front());
      found_.pop_front();
      if (still_holds(match) && is_whole(match)) return match;
    }
    if (next_candidate_ == mains.size()) return std::nullopt;
    search(*mains[next_candidate_++]);
  }
}

void PatternMatcher::search(Node& candidate) {
  add_work(Work::kCandidates);
  const Value& main = *pattern_.graph().outputs()[0];
  if (candidate.is_erased() || candidate.output_count() <= main.result()) return;
  Match state;
  state.pattern_ = &pattern_;
  state.nodes_.resize(pattern_.graph().node_limit());
  state.values_.resize(pattern_.graph().value_limit());
  walk(std::move(state), {{&main, &candidate.output(main.result())}}, 1);
}

// The outputs before `output` have been placed.
void PatternMatcher::place_outputs(Match state, size_t output) {
  const std::vector<Value*>& outputs = pattern_.graph().outputs();
  if (output == outputs.size()) {
    found_.push_back(std::move(state));
    return;
  }
  const Value& wanted = *outputs[output];
  for (Node* candidate : candidates(state, *wanted.producer())) {
    if (candidate->is_erased() || candidate->output_count() <= wanted.result()) continue;
    walk(state, {{&wanted, &candidate->output(wanted.result())}}, output + 1);
  }
}

// Places all pending values, then the outputs from `output` on. Each order of a commutative node's
// inputs is a branch.
void PatternMatcher::walk(Match state, std::vector<Pair> pending, size_t output) {
  while (!pending.empty()) {
    const Pair pair = pending.back();
    pending.pop_back();
    const Node* node = pair.pattern->producer();
    const bool is_new = node != nullptr && state.nodes_[static_cast<size_t>(node->id())] == nullptr;
    if (!place_value(state, pair, pending)) return;
    if (!options_.commuted || !is_new || !is_commutative(*node)) continue;
    std::vector<Pair> swapped = pending;  // its last two pairs are the node's inputs
    std::swap(swapped[swapped.size() - 1].target, swapped[swapped.size() - 2].target);
    if (swapped.back().target == pending.back().target) continue;
    walk(state, std::move(pending), output);
    pending = std::move(swapped);
  }
  place_outputs(std::move(state), output);
}

bool PatternMatcher::place_value(Match& state, Pair pair, std::vector<Pair>& pending) const {
  Value*& placed = state.values_[static_cast<size_t>(pair.pattern->id())];
  if (placed != nullptr)
    return placed == pair.target ||
           (pair.pattern->is_constant() && placed->segment() == pair.target->segment());
  const Node* node = pair.pattern->producer();
  if (node == nullptr) {
    if (pair.pattern->is_constant() &&
        !constant_matches(*pair.pattern, *pair.target, options_.constant_values))
      return false;
    placed = pair.target;
    return true;
  }
  Node* target = pair.target->producer();
  if (target == nullptr || pair.pattern->result() != pair.target->result()) return false;
  placed = pair.target;
  if (Node* same = state.nodes_[static_cast<size_t>(node->id())]; same != nullptr)
    return same == target;
  if (!place_node(state, *node, *target)) return false;
  for (size_t i = 0; i < node->input_count(); ++i) {
    if (node->input(i) != nullptr) pending.push_back({node->input(i), target->input(i)});
  }
  return true;
}

bool PatternMatcher::place_node(Match& state, const Node& pattern_node, Node& target) const {
  if (target.op() != pattern_node.op() || target.input_count() != pattern_node.input_count())
    return false;
  if (target.output_count() < pattern_node.output_count()) return false;
  for (size_t i = 0; i < target.input_count(); ++i) {
    if ((target.input(i) == nullptr) != (pattern_node.input(i) == nullptr)) return false;
  }
  if (std::find(state.nodes_.begin(), state.nodes_.end(), &target) != state.nodes_.end())
    return false;
  if (options_.attributes && !attributes_match(pattern_node, target)) return false;
  state.nodes_[static_cast<size_t>(pattern_node.id())] = &target;
  return true;
}

// Returns the candidates of a pattern node. A node placed already through another of its results is
// the only one; a node that reads a placed value is among that value's readers.
std::vector<Node*> PatternMatcher::candidates(const Match& state, const Node& pattern_node) const {
  if (Node* placed = state.nodes_[static_cast<size_t>(pattern_node.id())]; placed != nullptr)
    return {placed};
  for (size_t i = 0; i < pattern_node.input_count(); ++i) {
    const Value* read = pattern_node.input(i);
    if (read == nullptr || read->is_constant()) continue;
    const Value* placed = state.values_[static_cast<size_t>(read->id())];
    if (placed == nullptr) continue;
    std::vector<Node*> readers;
    for (const Use& use : placed->uses()) readers.push_back(use.node);
    std::sort(readers.begin(), readers.end(),
              [](const Node* a, const Node* b) { return a->is_before(*b); });
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    return readers;
  }
  return index_.nodes(pattern_node.op());
}

// Returns true when values inside are read outside only where the pattern has outputs.
bool PatternMatcher::is_whole(const Match& match) const {
  const std::set<const Node*> inside(match.nodes_.begin(), match.nodes_.end());
  if (!has_outer_inputs(pattern_.graph(), match, inside)) return false;
  if (options_.force) return true;
  for (const Node& node : pattern_.graph().nodes()) {
    const Node& target = match.node(node);
    for (size_t i = 0; i < target.output_count(); ++i) {
      if (i < node.output_count() && node.output(i).is_output()) continue;
      const Value& value = target.output(i);
      if (value.is_output()) return false;
      for (const Use& use : value.uses()) {
        if (!inside.contains(use.node)) return false;
      }
    }
  }
  return true;
}

// Returns false when a rewrite since the search removed something.
bool PatternMatcher::still_holds(const Match& match) const {
  for (const Node& node : pattern_.graph().nodes()) {
    const Node& target = match.node(node);
    if (target.is_erased() || target.input_count() != node.input_count()) return false;
    const auto holds = [&](size_t i, size_t k) {
      const Value* wanted = node.input(i) == nullptr ? nullptr : &match.value(*node.input(i));
      return target.input(k) == wanted ||
             (wanted != nullptr && target.input(k) != nullptr && node.input(i)->is_constant() &&
              target.input(k)->segment() == wanted->segment());
    };
    const bool swapped = options_.commuted && is_commutative(node) && holds(0, 1) && holds(1, 0);
    for (size_t i = 0; i < node.input_count() && !swapped; ++i) {
      if (!holds(i, i)) return false;
    }
  }
  return true;
}

}  // namespace sluice
