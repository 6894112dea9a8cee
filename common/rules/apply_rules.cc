#include "common/rules/apply_rules.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_set>

#include "common/base/work.h"
#include "common/pass/editor.h"
#include "common/rules/matcher.h"
#include "common/rules/open_rules.h"
#include "common/rules/places.h"
#include "common/rules/replace_match.h"

namespace sluice::rules {
namespace {

constexpr size_t kVisitsPerNode = 10;
constexpr size_t kFewNodes = 100;  // smaller graphs are visited as often as such a one
constexpr int kMaxWalks = 8;

// The nodes at which a rule is still to be tried, each once.
class Queue {
 public:
  void push(Node& node) {
    if (waiting_.insert(&node).second) nodes_.push_back(&node);
  }
  Node* pop() {
    if (nodes_.empty()) return nullptr;
    Node* node = nodes_.front();
    nodes_.pop_front();
    waiting_.erase(node);
    return node;
  }
  bool empty() const { return nodes_.empty(); }

 private:
  std::deque<Node*> nodes_;
  std::unordered_set<const Node*> waiting_;
};

class RuleRun {
 public:
  // replacer: null where no rule is open.
  RuleRun(Graph& graph, const RuleFile& file, const OpenReplacer* replacer,
          std::vector<RuleCount>& counts)
      : graph_(graph),
        file_(file),
        replacer_(replacer),
        counts_(counts),
        editor_(graph),
        index_(graph),
        limit_(kVisitsPerNode * std::max(graph.node_count(), kFewNodes)),
        queues_(file.rules.size()),
        visits_(file.rules.size(), 0) {
    for (const Rule& rule : file.rules) {
      matchers_.emplace_back(rule, index_);
      depth_ = std::max(depth_, rule_depth(rule));
    }
  }

  Result<bool> run() {
    push_all(index_);
    while (true) {
      for (size_t i = 0; i < queues_.size(); i = first_waiting()) {
        while (Node* node = queues_[i].pop()) {
          if (++visits_[i] > limit_) return endless(i);
          SLUICE_TRY(visit(i, *node));
        }
      }
      if (!tries_all_) break;
      tries_all_ = false;
      push_all(OpIndex(graph_));
    }
    if (types_changed_) SLUICE_TRY(infer_again());
    return changed_;
  }

 private:
  void push_all(const OpIndex& index) {
    for (size_t i = 0; i < matchers_.size(); ++i) {
      for (const Op op : matchers_[i].root_ops()) {
        for (Node* node : index.nodes(op)) queues_[i].push(*node);
      }
    }
  }

  static size_t rule_depth(const Rule& rule) {
    size_t depth = 0;
    for (const Pattern& pattern : rule.patterns) depth = std::max(depth, pattern.statements.size());
    return depth;
  }

  size_t first_waiting() const {
    const auto waiting = std::ranges::find_if(queues_, [](const Queue& q) { return !q.empty(); });
    return static_cast<size_t>(waiting - queues_.begin());
  }

  Error endless(size_t rule) const {
    return make_error(ErrorCode::kBadText,
                      "rule {} was tried {} times in a graph of {} nodes: it matches what it makes",
                      file_.rules[rule].name, visits_[rule] - 1, graph_.node_count())
        .with_hint("add a condition that its own replacement breaks");
  }

  Error exhausted(size_t rule) const {
    return make_error(ErrorCode::kBadText,
                      "rule {} is searched too long in a graph of {} nodes: it has too many ways "
                      "to match",
                      file_.rules[rule].name, graph_.node_count())
        .with_hint(
            "fewer commuted and optional lines, and outputs that read a common value, "
            "leave fewer");
  }

  Result<void> visit(size_t rule, Node& node) {
    if (node.is_erased()) return {};
    SLUICE_TRY(graph_.restore_order());  // a replacement with several outputs may break it
    std::optional<Match> match;
    const auto keep = [&](const Match& found) {
      if (file_.rules[rule].is_open && !replacer_->accepts(file_.rules[rule], found)) return false;
      match = found;
      return true;
    };
    if (!matchers_[rule].match_at(node, keep)) {
      if (matchers_[rule].is_exhausted()) return exhausted(rule);
      return {};
    }
    ++counts_[rule].times.matches;
    ++counts_[rule].patterns[match->pattern].matches;
    if (!facts_ && has_types(file_)) facts_.emplace(graph_);
    const std::vector<Node*> readers = readers_of(*match, file_.rules[rule]);
    SLUICE_ASSIGN(const Replaced replaced, replace(file_.rules[rule], *match));
    if (!replaced.obstacle.empty()) {
      if (counts_[rule].obstacle.empty())
        counts_[rule].obstacle = fmt::format("{}: {}", node.label(), replaced.obstacle);
      return {};
    }
    ++counts_[rule].times.effects;
    ++counts_[rule].patterns[match->pattern].effects;
    changed_ = true;
    types_changed_ = types_changed_ || replaced.types_changed;
    std::vector<Node*> fresh = replaced.made;
    fresh.insert(fresh.end(), readers.begin(), readers.end());
    try_again(std::move(fresh));
    return {};
  }

  Result<Replaced> replace(const Rule& rule, Match& match) {
    ValueFacts* facts = facts_ ? &*facts_ : nullptr;
    if (!rule.is_open) return replace_match(editor_, rule, match, facts, facts != nullptr);
    const std::optional<OwnReplacement> own = replacer_->replace(rule, match);
    if (!own) return Replaced{.obstacle = "the replacement was declined"};
    SLUICE_ASSIGN(const Rule closed, close_rule(file_, rule, *own));
    match.bindings.values.resize(closed.values.size(), nullptr);
    for (size_t i = 0; i < own->values.size(); ++i)
      match.bindings.values[rule.values.size() + i] = own->values[i].second;
    return replace_match(editor_, closed, match, facts, facts != nullptr);
  }

  static std::vector<Node*> readers_of(const Match& match, const Rule& rule) {
    std::vector<Node*> readers;
    for (const int32_t output : rule.outputs) {
      const Value& value = *match.bindings.values[static_cast<size_t>(output)];
      for (const Use& use : value.uses()) readers.push_back(use.node);
    }
    std::ranges::sort(readers, [](const Node* a, const Node* b) { return a->is_before(*b); });
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    return readers;
  }

  // Nodes as far behind the new ones as a pattern is long may match now.
  void try_again(std::vector<Node*> nodes) {
    std::unordered_set<const Node*> seen(nodes.begin(), nodes.end());
    size_t begin = 0;
    for (size_t far = 0; far < depth_; ++far) {
      const size_t end = nodes.size();
      for (; begin < end && nodes.size() < kMaxAgain; ++begin) {
        for (size_t i = 0; i < nodes[begin]->output_count(); ++i) {
          for (const Use& use : nodes[begin]->output(i).uses()) {
            if (seen.insert(use.node).second) nodes.push_back(use.node);
          }
        }
      }
      begin = end;
    }
    tries_all_ = tries_all_ || nodes.size() >= kMaxAgain;
    for (size_t i = 0; i < matchers_.size(); ++i) {
      const std::vector<Op>& ops = matchers_[i].root_ops();
      for (Node* node : nodes) {
        if (!node->is_erased() && std::ranges::find(ops, node->op()) != ops.end())
          queues_[i].push(*node);
      }
    }
  }

  Result<void> infer_again() {
    for (int i = 0; i < kMaxWalks; ++i) {
      SLUICE_TRY(graph_.restore_order());
      ValueFacts facts(graph_);
      SLUICE_ASSIGN(const bool changed, infer_graph(graph_, facts));
      if (!changed) break;
    }
    return {};
  }

  static constexpr size_t kMaxAgain = 1000;

  Graph& graph_;
  const RuleFile& file_;
  const OpenReplacer* replacer_;
  std::vector<RuleCount>& counts_;
  Editor editor_;
  OpIndex index_;
  size_t limit_;
  size_t depth_ = 0;
  std::vector<Matcher> matchers_;
  std::vector<Queue> queues_;  // by rule
  std::vector<size_t> visits_;
  std::optional<ValueFacts> facts_;
  bool tries_all_ = false;  // too many nodes may match anew to name them
  bool changed_ = false;
  bool types_changed_ = false;
};

Result<bool> apply(Graph& root, const RuleFile& file, const OpenReplacer* replacer,
                   std::vector<RuleCount>& counts) {
  counts.resize(file.rules.size());
  for (size_t i = 0; i < counts.size(); ++i) {
    counts[i].rule = file.rules[i].name;
    counts[i].patterns.resize(file.rules[i].patterns.size());
  }
  return on_every_graph(root,
                        [&](Graph& graph) { return RuleRun(graph, file, replacer, counts).run(); });
}

}  // namespace

Result<bool> apply_rules(Graph& root, const RuleFile& file, std::vector<RuleCount>& counts) {
  return apply(root, file, nullptr, counts);
}

Result<bool> apply_open_rules(Graph& root, const RuleFile& file, const OpenReplacer& replacer,
                              std::vector<RuleCount>& counts) {
  return apply(root, file, &replacer, counts);
}

}  // namespace sluice::rules
