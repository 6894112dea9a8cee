#include "common/rules/matcher.h"

#include <algorithm>

#include "common/base/work.h"
#include "common/rules/search.h"

namespace sluice::rules {
namespace {

bool has_op(const Statement& statement, Op op) {
  const std::span<const Op> ops = ops_of(statement);
  return std::ranges::find(ops, op) != ops.end();
}

bool is_made_by(const Value* value, const Statement& statement) {
  const Node* node = value == nullptr ? nullptr : value->producer();
  return node != nullptr && has_op(statement, node->op());
}

bool is_factor(const Value* value) {
  const Node* node = value == nullptr ? nullptr : value->producer();
  return node != nullptr && (node->op() == Op::kMul || node->op() == Op::kDiv);
}

// Returns false where some operand of the root is made by no node that the pattern could have
// there: most nodes are told apart without a search.
bool may_match(const Pattern& pattern, const Statement& root, const Node& node) {
  for (size_t i = 0; i < root.operands.size(); ++i) {
    const Operand& operand = root.operands[i];
    const int32_t maker = operand.kind == Operand::Kind::kValue
                              ? pattern.makers[static_cast<size_t>(operand.value)]
                              : -1;
    if (maker < 0) continue;
    const Statement& made = pattern.statements[static_cast<size_t>(maker)];
    if (made.form != Statement::Form::kNode || made.optional) continue;
    const bool is_product = root.form == Statement::Form::kProduct;
    bool is_there = !is_product && is_made_by(node.input(i), made);
    for (size_t k = 0; k < 2 && (is_product || root.commuted); ++k) {
      is_there =
          is_there || is_made_by(node.input(k), made) || (is_product && is_factor(node.input(k)));
    }
    if (!is_there) return false;
  }
  return true;
}

}  // namespace

std::span<const Op> ops_of(const Statement& statement) {
  static constexpr Op kFactors[] = {Op::kMul, Op::kDiv};
  static constexpr Op kTerms[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kPow, Op::kNeg};
  if (statement.form == Statement::Form::kProduct) return kFactors;
  if (statement.form == Statement::Form::kPolynomial) return kTerms;
  return statement.ops;
}

std::string statement_text(const Statement& statement) {
  if (statement.form == Statement::Form::kProduct) return "a product";
  if (statement.form == Statement::Form::kPolynomial) return "a polynomial";
  if (!statement.foreign.empty()) return "\"" + statement.foreign + "\"";
  std::string text;
  for (const Op op : statement.ops) text += (text.empty() ? "" : " or ") + std::string(op_name(op));
  return text;
}

size_t root_statement(const Rule& rule, const Pattern& pattern) {
  size_t root = 0;
  for (const int32_t output : rule.outputs)
    root = std::max(root, static_cast<size_t>(pattern.makers[static_cast<size_t>(output)]));
  return root;
}

Matcher::Matcher(const Rule& rule, const OpIndex& index) : rule_(rule), index_(index) {
  for (const Pattern& pattern : rule.patterns) {
    for (const Op op : ops_of(pattern.statements[root_statement(rule, pattern)])) {
      if (std::ranges::find(root_ops_, op) == root_ops_.end()) root_ops_.push_back(op);
    }
  }
}

namespace {

// Of two that are as far, the later one stays.
void keep_further(PartialMatch here, PartialMatch& trace) {
  if (!here.reason.empty() && !here.is_behind(trace)) trace = std::move(here);
}

}  // namespace

bool Matcher::match_at(Node& node, FunctionRef<bool(const Match&)> found, PartialMatch* trace) {
  if (node.is_erased() || is_exhausted()) return false;
  for (size_t i = 0; i < rule_.patterns.size(); ++i) {
    const Pattern& pattern = rule_.patterns[i];
    const size_t root = root_statement(rule_, pattern);
    const Statement& statement = pattern.statements[root];
    if (!has_op(statement, node.op())) continue;
    if (trace == nullptr && !may_match(pattern, statement, node)) continue;
    add_work(Work::kCandidates);
    PartialMatch here{.is_root = true};
    Search search(rule_, i, index_, found, trace == nullptr ? nullptr : &here);
    const bool is_content = search.run(root, node);
    steps_ += search.steps();
    if (is_content) return true;
    if (trace != nullptr) keep_further(std::move(here), *trace);
  }
  return false;
}

void Matcher::explain_at(Node& node, PartialMatch& trace) {
  const auto found = [](const Match&) { return false; };
  for (size_t i = 0; i < rule_.patterns.size(); ++i) {
    const std::vector<Statement>& statements = rule_.patterns[i].statements;
    for (size_t k = 0; k < statements.size(); ++k) {
      if (statements[k].form != Statement::Form::kNode || !has_op(statements[k], node.op()))
        continue;
      if (is_exhausted()) return;
      PartialMatch here;
      Search search(rule_, i, index_, found, &here);
      search.run(k, node);
      steps_ += search.steps();
      keep_further(std::move(here), trace);
    }
  }
}

}  // namespace sluice::rules
