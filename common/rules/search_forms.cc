// The forms product and polynomial of a search.
#include <algorithm>

#include "common/pass/number.h"
#include "common/rules/search.h"
#include "fmt/ranges.h"

namespace sluice::rules {
namespace {

constexpr std::string_view kFactor = "factor";

const AttributeTerm* find_term(const Statement& statement, std::string_view name) {
  const auto found = std::ranges::find(statement.attributes, name, &AttributeTerm::name);
  return found == statement.attributes.end() ? nullptr : &*found;
}

}  // namespace

// Binds the name of a number where the attribute is one that has none yet; without an attribute the
// number must be 1.
bool Search::number_fits(const AttributeTerm* attribute, DType dtype, double number,
                         const Node* node) {
  if (attribute != nullptr && attribute->term.kind == Term::Kind::kWord) {
    const auto name = std::ranges::find(rule_.numbers, attribute->term.text);
    auto& bound = bindings_.numbers[static_cast<size_t>(name - rule_.numbers.begin())];
    if (!bound) {
      bound = number;
      return true;
    }
    return is_close(dtype, number, *bound);
  }
  const double expected = attribute == nullptr ? 1 : attribute->term.number;
  if (is_close(dtype, number, expected)) return true;
  fail(node, [&] {
    return fmt::format("the product that {} makes has the factor {}, expected {}",
                       node == nullptr ? "it" : node->label(), number, expected);
  });
  return false;
}

// Division of whole numbers rounds, so that factors cannot change places.
bool Search::is_float(const Goal& goal) {
  const DType dtype = goal.target->type().dtype;
  if (dtype == DType::kUndefined || dtype_is_float(dtype)) return true;
  fail(goal.target->producer(), [&] {
    return fmt::format("{} is of {}, and products and polynomials are of floats", shown(goal.value),
                       dtype_name(dtype));
  });
  return false;
}

bool Search::solve_product(const Goal& goal, size_t statement) {
  if (is_placed_[statement] || !is_float(goal)) return false;
  is_placed_[statement] = true;
  bindings_.values[static_cast<size_t>(goal.value)] = goal.target;
  const bool solved =
      solve_factors(goal, statement, {.factors = {goal.target}, .number = 1, .nodes = {}}, 0);
  bindings_.values[static_cast<size_t>(goal.value)] = nullptr;
  is_placed_[statement] = false;
  return solved;
}

// Tries the factors as they are, then with one of them, from `first` on, multiplied out.
bool Search::solve_factors(const Goal& goal, size_t statement, const Product& product,
                           size_t first) {
  const size_t wanted = pattern_.statements[statement].operands.size();
  if (!may_go_on()) return false;
  if (product.factors.size() == wanted && solve_assigned(goal, statement, product)) return true;
  for (size_t i = first; i < product.factors.size(); ++i) {
    const auto more = expanded(product, i);
    if (more && more->factors.size() <= wanted && solve_factors(goal, statement, *more, 0))
      return true;
  }
  if (product.nodes.empty() && wanted > 1) {
    fail(goal.reader != nullptr ? goal.reader : goal.target->producer(), [&] {
      return fmt::format("{} is {}, expected a product of {} values", shown(goal.value),
                         described(goal.target), wanted);
    });
  }
  return false;
}

bool Search::solve_assigned(const Goal& goal, size_t statement, const Product& product) {
  const Statement& wanted = pattern_.statements[statement];
  const auto numbers = bindings_.numbers;
  const size_t used = used_.size(), depth = goals_.size();
  for (Node* node : product.nodes) {
    if (std::ranges::find(used_, node) != used_.end()) return false;
  }
  used_.insert(used_.end(), product.nodes.begin(), product.nodes.end());
  used_for_.resize(used_.size(), statement);
  bool solved = false;
  const DType dtype = goal.target->type().dtype;
  if (number_fits(find_term(wanted, kFactor), dtype, product.number, goal.target->producer())) {
    std::vector<Value*> factors = product.factors;
    std::vector<size_t> order(factors.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    do {
      for (size_t i = 0; i < order.size(); ++i)
        goals_.push_back({wanted.operands[i].value, factors[order[i]], goal.target->producer(), i});
      solved = solve();
      goals_.resize(depth);
    } while (!solved && std::next_permutation(order.begin(), order.end()));
  }
  used_.resize(used);
  used_for_.resize(used);
  bindings_.numbers = numbers;
  return solved;
}

// A polynomial waits until its operand is known.
bool Search::solve_polynomial(const Goal& goal, size_t statement) {
  const Statement& wanted = pattern_.statements[statement];
  const Value* x = bindings_.values[static_cast<size_t>(wanted.operands[0].value)];
  if (!is_float(goal)) return false;
  if (x == nullptr) {
    if (deferred_ >= goals_.size()) return false;
    ++deferred_;
    goals_.insert(goals_.begin(), goal);
    const bool solved = solve();
    goals_.erase(goals_.begin());
    --deferred_;
    return solved;
  }
  const auto found = read_polynomial(*goal.target, *x);
  std::vector<double> expected;
  for (const Term& term : wanted.attributes[0].term.terms) expected.push_back(term.number);
  if (!found || !are_close(x->type().dtype, found->coefficients, expected)) {
    fail(goal.reader, [&] {
      return fmt::format(
          "operand {} of {} is {}, expected a polynomial in {} with the coefficients {}",
          goal.operand, goal.reader == nullptr ? "the match" : goal.reader->label(),
          found ? fmt::format("one with {}", fmt::join(found->coefficients, ", "))
                : described(goal.target),
          shown(wanted.operands[0].value), wanted.attributes[0].term.spelling);
    });
    return false;
  }
  const size_t used = used_.size(), deferred = deferred_;
  used_.insert(used_.end(), found->nodes.begin(), found->nodes.end());
  used_for_.resize(used_.size(), statement);
  is_placed_[statement] = true;
  deferred_ = 0;
  bindings_.values[static_cast<size_t>(goal.value)] = goal.target;
  const bool solved = solve();
  bindings_.values[static_cast<size_t>(goal.value)] = nullptr;
  deferred_ = deferred;
  is_placed_[statement] = false;
  used_.resize(used);
  used_for_.resize(used);
  return solved;
}

}  // namespace sluice::rules
