#include "common/rules/search.h"

#include <algorithm>

#include "common/ops/op_table.h"
#include "common/pass/number.h"

namespace sluice::rules {
namespace {

// Returns the number of operands without absent ones at the end.
size_t operand_count(const Node& node) {
  size_t count = node.input_count();
  while (count > 0 && node.input(count - 1) == nullptr) --count;
  return count;
}

bool same_constant(const Value& a, const Value& b) {
  return a.is_constant() && b.is_constant() && a.segment() == b.segment();
}

bool same_list(const std::optional<std::vector<int64_t>>& found, const Term& list) {
  return found && std::ranges::equal(*found, list.terms, [](int64_t a, const Term& b) {
           return static_cast<double>(a) == b.number;
         });
}

// Returns whether the constant is the number, or the vector of numbers, of the term.
bool is_spelled(const Value& value, const Term& term) {
  if (term.kind == Term::Kind::kList) return same_list(constant_ints(&value), term);
  const auto number = find_number(&value);
  if (!number) return false;
  const DType dtype = value.type().dtype;
  if (*number == term.number) return true;  // infinities, too
  return dtype_is_float(dtype) && is_close(dtype, *number, term.number);
}

bool are_close_values(const AttributeValue& a, const AttributeValue& b) {
  const auto close = [](float x, float y) { return x == y || is_close(DType::kF32, x, y); };
  if (const auto* real = std::get_if<float>(&a))
    return std::holds_alternative<float>(b) && close(*real, std::get<float>(b));
  const auto* reals = std::get_if<std::vector<float>>(&a);
  if (reals == nullptr || !std::holds_alternative<std::vector<float>>(b)) return a == b;
  return std::ranges::equal(*reals, std::get<std::vector<float>>(b), close);
}

// Returns whether all operands from this one on may be absent.
bool may_be_absent(const Statement& wanted, size_t first) {
  return first < wanted.operands.size() &&
         std::all_of(
             wanted.operands.begin() + static_cast<std::ptrdiff_t>(first), wanted.operands.end(),
             [](const Operand& operand) {
               return operand.kind == Operand::Kind::kAbsent ||
                      operand.kind == Operand::Kind::kAnything;
             });
}

std::string foreign_name(const Node& node) {
  const AttributeValue* name = node.find_attribute(kForeignName);
  return name == nullptr ? std::string() : std::get<std::string>(*name);
}

}  // namespace

std::string described(const Value* value) {
  if (value == nullptr) return "absent";
  if (value->is_constant()) {
    const auto number = find_number(value);
    if (!number) return "a constant";
    return value->type().dtype == DType::kF64
               ? fmt::format("the constant {}", *number)
               : fmt::format("the constant {}", static_cast<float>(*number));
  }
  const Node* node = value->producer();
  if (node == nullptr) return fmt::format("the input '{}'", value->name());
  return node->name().empty() ? std::string(op_name(node->op()))
                              : fmt::format("{} '{}'", op_name(node->op()), node->name());
}

Search::Search(const Rule& rule, size_t pattern, const OpIndex& index,
               FunctionRef<bool(const Match&)> found, PartialMatch* trace)
    : rule_(rule),
      pattern_(rule.patterns[pattern]),
      number_(pattern),
      index_(index),
      found_(found),
      trace_(trace),
      is_placed_(pattern_.statements.size()) {
  bindings_.values.resize(rule.values.size());
  bindings_.numbers.resize(rule.numbers.size());
}

void Search::fail(const Node* node, FunctionRef<std::string()> reason, bool is_node) {
  if (trace_ == nullptr) return;
  PartialMatch here{.reason = {},
                    .node = node,
                    .placed = placed_count(),
                    .held = held_,
                    .is_node = is_node,
                    .is_root = trace_->is_root,
                    .bound = bound_count()};
  if (!trace_->reason.empty() && !trace_->is_behind(here)) return;
  here.reason = reason();
  *trace_ = std::move(here);
}

size_t Search::bound_count() const {
  return static_cast<size_t>(
      std::ranges::count_if(bindings_.values, [](const Value* value) { return value != nullptr; }));
}

size_t Search::placed_count() const {
  return static_cast<size_t>(std::ranges::count(is_placed_, true));
}

std::string Search::shown(int32_t value) const {
  return "%" + rule_.values[static_cast<size_t>(value)];
}

bool Search::run(size_t statement, Node& node) {
  const std::vector<int32_t>& results = pattern_.statements[statement].results;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i] < 0) continue;
    if (i >= node.output_count()) return false;
    goals_.push_back({results[i], &node.output(i), nullptr, 0});
    return solve();
  }
  return false;
}

bool Search::may_go_on() {
  if (++steps_ <= kMaxSteps) return true;
  fail(used_.empty() ? nullptr : used_.front(), [] {
    return std::string("the pattern has too many ways to match here: too long a search");
  });
  return false;
}

bool Search::solve() {
  if (!may_go_on()) return false;
  if (goals_.empty()) return solve_unplaced();
  const Goal goal = goals_.back();
  goals_.pop_back();
  const size_t depth = goals_.size();
  const bool solved = solve_goal(goal);
  goals_.resize(depth);
  goals_.push_back(goal);
  return solved;
}

bool Search::solve_goal(const Goal& goal) {
  const auto value = static_cast<size_t>(goal.value);
  if (bindings_.values[value] != nullptr) return solve_bound(goal);
  const int32_t maker = pattern_.makers[value];
  if (maker >= 0) return solve_made(goal, static_cast<size_t>(maker));
  bindings_.values[value] = goal.target;
  const bool solved = solve();
  bindings_.values[value] = nullptr;
  return solved;
}

bool Search::solve_bound(const Goal& goal) {
  Value* bound = bindings_.values[static_cast<size_t>(goal.value)];
  if (bound == goal.target || same_constant(*bound, *goal.target)) return solve();
  fail(goal.reader, [&] {
    return fmt::format("operand {} of {} is {}, expected {}, which is {}", goal.operand,
                       goal.reader == nullptr ? "the match" : goal.reader->label(),
                       described(goal.target), shown(goal.value), described(bound));
  });
  return false;
}

bool Search::solve_made(const Goal& goal, size_t statement) {
  const Statement& made = pattern_.statements[statement];
  if (made.form == Statement::Form::kPolynomial) return solve_polynomial(goal, statement);
  if (made.form == Statement::Form::kProduct) return solve_product(goal, statement);
  if (solve_node(goal, statement)) return true;
  if (!made.optional || is_placed_[statement] || made.operands[0].kind != Operand::Kind::kValue)
    return false;
  is_placed_[statement] = true;
  bindings_.values[static_cast<size_t>(goal.value)] = goal.target;
  bindings_.left_out.push_back(goal.value);
  goals_.push_back({made.operands[0].value, goal.target, goal.reader, goal.operand});
  const bool solved = solve();
  bindings_.left_out.pop_back();
  bindings_.values[static_cast<size_t>(goal.value)] = nullptr;
  is_placed_[statement] = false;
  return solved;
}

// Returns whether the node that makes the target has the op and the number of operands of the
// statement, and stands for no other one.
bool Search::node_fits(const Goal& goal, size_t statement) {
  const Statement& wanted = pattern_.statements[statement];
  const Node* node = goal.target->producer();
  const bool is_op =
      node != nullptr && std::ranges::find(wanted.ops, node->op()) != wanted.ops.end();
  if (!is_op || (wanted.ops[0] == Op::kForeign && foreign_name(*node) != wanted.foreign)) {
    fail(
        goal.reader != nullptr ? goal.reader : node,
        [&] {
          const std::string where =
              goal.reader == nullptr
                  ? shown(goal.value)
                  : fmt::format("operand {} of {}", goal.operand, goal.reader->label());
          return fmt::format("{} is {}, expected {}", where, described(goal.target),
                             statement_text(wanted));
        },
        node != nullptr);
    return false;
  }
  if (is_placed_[statement] || std::ranges::find(used_, node) != used_.end()) {
    fail(node, [&] { return fmt::format("{} stands for two nodes of the rule", node->label()); });
    return false;
  }
  const size_t count = operand_count(*node);
  if (count == wanted.operands.size() || (count > wanted.operands.size() && wanted.has_more) ||
      may_be_absent(wanted, count))
    return true;
  fail(node, [&] {
    return fmt::format("{} has {} operands, expected {}", node->label(), count,
                       wanted.operands.size());
  });
  return false;
}

bool Search::solve_node(const Goal& goal, size_t statement) {
  if (!node_fits(goal, statement)) return false;
  const Statement& wanted = pattern_.statements[statement];
  Node& node = *goal.target->producer();
  const Bindings before = bindings_;
  is_placed_[statement] = true;
  used_.push_back(&node);
  used_for_.push_back(statement);
  const bool solved = binds_results(statement, node) && attributes_fit(wanted, node) &&
                      (solve_operands(statement, node, false) ||
                       (wanted.commuted && solve_operands(statement, node, true)));
  bindings_ = before;
  is_placed_[statement] = false;
  used_.pop_back();
  used_for_.pop_back();
  return solved;
}

bool Search::binds_results(size_t statement, const Node& node) {
  const std::vector<int32_t>& results = pattern_.statements[statement].results;
  for (size_t i = 0; i < results.size(); ++i) {
    if (i >= node.output_count()) {
      fail(&node, [&] {
        return fmt::format("{} has {} results, expected {}", node.label(), node.output_count(),
                           results.size());
      });
      return false;
    }
    if (results[i] < 0) continue;
    Value*& bound = bindings_.values[static_cast<size_t>(results[i])];
    if (bound != nullptr && bound != &node.output(i)) return false;
    bound = &node.output(i);
  }
  return true;
}

bool Search::solve_operands(size_t statement, Node& node, bool is_swapped) {
  const std::vector<Operand>& operands = pattern_.statements[statement].operands;
  const size_t depth = goals_.size();
  bool fits = true;
  // The first operand is reached first.
  for (size_t i = operands.size(); i-- > 0 && fits;)
    fits = push_operand(operands[i], node, is_swapped && i < 2 ? 1 - i : i);
  const bool solved = fits && solve();
  goals_.resize(depth);
  return solved;
}

bool Search::push_operand(const Operand& operand, Node& node, size_t index) {
  Value* target = node.input(index);
  const auto mismatch = [&](const std::string& expected) {
    fail(&node, [&] {
      return fmt::format("operand {} of {} is {}, expected {}", index, node.label(),
                         described(target), expected);
    });
    return false;
  };
  switch (operand.kind) {
    case Operand::Kind::kAnything:
      return true;
    case Operand::Kind::kAbsent:
      return target == nullptr || mismatch("none");
    case Operand::Kind::kTerm:
      return (target != nullptr && is_spelled(*target, operand.term)) ||
             mismatch(operand.term.spelling);
    case Operand::Kind::kValue:
      if (target == nullptr) return mismatch(shown(operand.value));
      goals_.push_back({operand.value, target, &node, index});
      return true;
  }
  return false;
}

bool Search::attributes_fit(const Statement& statement, const Node& node) {
  return std::ranges::all_of(statement.attributes, [&](const AttributeTerm& attribute) {
    return attribute_fits(attribute, node);
  });
}

bool Search::attribute_fits(const AttributeTerm& attribute, const Node& node) {
  const auto found = attribute_or_default(node, attribute.name);
  const auto wanted =
      attribute_of(evaluate_term(attribute.term, rule_, bindings_), node.op(), attribute.name);
  if (found && wanted && are_close_values(*found, *wanted)) return true;
  fail(&node, [&] {
    Term term;
    term.kind = Term::Kind::kCall;
    term.text = "attr";
    term.terms = {{}, {}};
    term.terms[0].kind = Term::Kind::kValue;
    term.terms[1].kind = Term::Kind::kText;
    term.terms[1].text = attribute.name;
    term.terms[0].value = 0;
    Bindings here = bindings_;
    here.values[0] = &node.output();
    return fmt::format("attribute '{}' of {} is {}, expected {}", attribute.name, node.label(),
                       found ? shown_value(evaluate_term(term, rule_, here)) : "absent",
                       attribute.term.spelling);
  });
  return false;
}

// Returns the readers of a value that the statement reads and that has been found; otherwise all
// nodes of its ops.
std::vector<Node*> Search::candidates(size_t statement, bool& is_connected) const {
  const Statement& wanted = pattern_.statements[statement];
  std::vector<Node*> nodes;
  for (const Operand& operand : wanted.operands) {
    const Value* value = operand.kind == Operand::Kind::kValue
                             ? bindings_.values[static_cast<size_t>(operand.value)]
                             : nullptr;
    if (value == nullptr || value->is_constant()) continue;
    is_connected = true;
    const std::span<const Op> ops = ops_of(wanted);
    for (const Use& use : value->uses()) {
      if (trace_ != nullptr || std::ranges::find(ops, use.node->op()) != ops.end())
        nodes.push_back(use.node);
    }
    std::ranges::sort(nodes, [](const Node* a, const Node* b) { return a->is_before(*b); });
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
  }
  is_connected = false;
  for (const Op op : ops_of(wanted)) {
    const std::vector<Node*>& all = index_.nodes(op);
    nodes.insert(nodes.end(), all.begin(), all.end());
  }
  return nodes;
}

// Goes on with a statement that no value led to: that of another output, or, where the search began
// in the middle, a reader.
bool Search::solve_unplaced() {
  size_t next = is_placed_.size();
  std::vector<Node*> nodes;
  bool is_connected = false;
  for (size_t i = 0; i < is_placed_.size() && !is_connected; ++i) {
    if (is_placed_[i]) continue;
    bool connects = false;
    std::vector<Node*> found = candidates(i, connects);
    if (next == is_placed_.size() || connects) {
      next = i;
      nodes = std::move(found);
      is_connected = connects;
    }
  }
  if (next == is_placed_.size()) return finish();
  const Statement& wanted = pattern_.statements[next];
  const size_t result = static_cast<size_t>(
      std::ranges::find_if(wanted.results, [](int32_t each) { return each >= 0; }) -
      wanted.results.begin());
  const Node* last = used_.empty() ? nullptr : used_.back();
  const Node* mismatch = nullptr;
  for (Node* node : nodes) {
    if (node->is_erased() || node->output_count() <= result) continue;
    if (wanted.form == Statement::Form::kNode &&
        std::ranges::find(wanted.ops, node->op()) == wanted.ops.end()) {
      mismatch = node;
      continue;
    }
    goals_.push_back({wanted.results[result], &node->output(result), nullptr, 0});
    const bool solved = solve();
    goals_.pop_back();
    if (solved) return true;
  }
  fail(
      mismatch != nullptr ? mismatch : last,
      [&] {
        const std::string found =
            mismatch == nullptr ? "no node" : fmt::format("{}", described(&mismatch->output()));
        return fmt::format("{}{} reads it, expected {}",
                           last == nullptr ? "" : fmt::format("{} fits, and ", last->label()),
                           found, statement_text(wanted));
      },
      mismatch != nullptr);
  return false;
}

}  // namespace sluice::rules
