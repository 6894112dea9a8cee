#include "common/symbolic/expression.h"

#include <algorithm>
#include <numeric>

#include "common/symbolic/sum_text.h"

namespace sluice {
namespace {

constexpr int64_t kLow = INT64_MIN;
constexpr int64_t kHigh = INT64_MAX;

int64_t saturating_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? kHigh : kLow;
}

int64_t saturating_multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? kHigh : kLow;
}

int64_t floor_quotient(int64_t a, int64_t b) {
  if (b == -1) return a == kLow ? kHigh : -a;
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Interval multiply_intervals(Interval a, Interval b) {
  const int64_t corners[] = {saturating_multiply(a.low, b.low), saturating_multiply(a.low, b.high),
                             saturating_multiply(a.high, b.low),
                             saturating_multiply(a.high, b.high)};
  return {*std::min_element(std::begin(corners), std::end(corners)),
          *std::max_element(std::begin(corners), std::end(corners))};
}

Interval divide_intervals(Interval a, Interval b) {
  if (b.low <= 0) return {};
  const int64_t corners[] = {floor_quotient(a.low, b.low), floor_quotient(a.low, b.high),
                             floor_quotient(a.high, b.low), floor_quotient(a.high, b.high)};
  return {*std::min_element(std::begin(corners), std::end(corners)),
          *std::max_element(std::begin(corners), std::end(corners))};
}

}  // namespace

bool ExpressionTable::ByStructure::operator()(const Monomial& a, const Monomial& b) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), *this);
}

SymbolId ExpressionTable::add_symbol(Symbol symbol) {
  const auto id = static_cast<SymbolId>(symbols_.size());
  symbol_names_.try_emplace(symbol.name, id);
  symbols_.push_back(std::move(symbol));
  return id;
}

std::optional<SymbolId> ExpressionTable::find_symbol(std::string_view name) const {
  const auto found = symbol_names_.find(name);
  if (found == symbol_names_.end()) return std::nullopt;
  return found->second;
}

ExpressionId ExpressionTable::intern(const Expression& expression) {
  const auto [found, inserted] =
      index_.try_emplace(expression, static_cast<ExpressionId>(expressions_.size()));
  if (!inserted) return found->second;
  expressions_.push_back(expression);
  Extent own;
  if (expression.a >= 0) {
    const Extent& a = extent(expression.a);
    const Extent& b = extent(expression.b);
    const bool is_sum = expression.op == ExpressionOp::kAdd;
    own.size = saturating_add(1, saturating_add(a.size, b.size));
    if (is_sum) own.terms = saturating_add(a.terms, b.terms);
    own.widest = std::max({own.terms, a.widest, b.widest});
    own.depth = std::max(a.depth, b.depth) + (is_sum ? 0 : 1);
  }
  extents_.push_back(own);
  return found->second;
}

bool ExpressionTable::is_before(ExpressionId a, ExpressionId b) const {
  const auto rank = [](const Expression& e) {
    return e.op == ExpressionOp::kConstant ? 255
           : e.op == ExpressionOp::kSymbol ? 0
                                           : static_cast<int>(e.op);
  };
  while (a != b) {  // equal expressions have equal ids, so the first operands that differ decide
    const Expression& left = (*this)[a];
    const Expression& right = (*this)[b];
    if (left.op != right.op) return rank(left) < rank(right);
    if (left.a < 0) return left.value < right.value;
    const bool same_first = left.a == right.a;
    a = same_first ? left.b : left.a;
    b = same_first ? right.b : right.a;
  }
  return false;
}

// Computes the extent of a result; exact for sums and products whose terms neither merge nor
// vanish.
ExpressionTable::Extent ExpressionTable::extent_of(ExpressionOp op, const Extent& a,
                                                   const Extent& b) {
  Extent result;
  result.size = saturating_add(1, saturating_add(a.size, b.size));
  result.depth = std::max(a.depth, b.depth) + (op == ExpressionOp::kAdd ? 0 : 1);
  switch (op) {
    case ExpressionOp::kAdd:
      result.terms = saturating_add(a.terms, b.terms);
      break;
    case ExpressionOp::kMul: {
      // Every term of a occurs once with each term of b.
      const int64_t left = saturating_multiply(a.size, b.terms);
      const int64_t right = saturating_multiply(b.size, a.terms);
      result.terms = saturating_multiply(a.terms, b.terms);
      result.size =
          saturating_add(saturating_add(left, right), saturating_add(a.terms, b.terms) - 1);
      break;
    }
    case ExpressionOp::kFloorDiv:
      result.terms = a.terms;
      break;
    case ExpressionOp::kCeilDiv:
      result.terms = saturating_add(a.terms, b.terms);
      result.size = saturating_add(result.size, saturating_add(b.size, 2));
      break;
    case ExpressionOp::kMod:
      return extent_of(ExpressionOp::kAdd, a,
                       extent_of(ExpressionOp::kMul, b, extent_of(ExpressionOp::kFloorDiv, a, b)));
    default:
      break;
  }
  result.widest = std::max({result.terms, a.widest, b.widest});
  return result;
}

bool ExpressionTable::is_small(const Extent& extent) {
  return extent.widest <= kMaxTerms && extent.size <= kMaxSize && extent.depth <= kMaxDepth;
}

bool ExpressionTable::stays_small(ExpressionOp op, ExpressionId a, ExpressionId b) const {
  return is_small(extent_of(op, extent(a), extent(b)));
}

ExpressionId ExpressionTable::constant(int64_t value) {
  return intern({ExpressionOp::kConstant, -1, -1, value});
}

ExpressionId ExpressionTable::symbol_expression(SymbolId id) {
  return intern({ExpressionOp::kSymbol, -1, -1, id});
}

std::optional<int64_t> ExpressionTable::as_constant(ExpressionId id) const {
  const Expression& expression = (*this)[id];
  if (expression.op != ExpressionOp::kConstant) return std::nullopt;
  return expression.value;
}

ExpressionTable::Monomial ExpressionTable::joined(const Monomial& a, const Monomial& b) const {
  Monomial result;
  result.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result), ByStructure{this});
  return result;
}

// Reads the normal form back: sums and products are expanded, everything else is an atom.
ExpressionTable::Polynomial ExpressionTable::polynomial(ExpressionId id) const {
  const Expression& expression = (*this)[id];
  Polynomial result = no_terms();
  switch (expression.op) {
    case ExpressionOp::kConstant:
      if (expression.value != 0) result[{}] = expression.value;
      return result;
    case ExpressionOp::kAdd: {
      result = polynomial(expression.a);
      for (const auto& [monomial, coefficient] : polynomial(expression.b)) {
        int64_t& slot = result[monomial];
        slot = saturating_add(slot, coefficient);
        if (slot == 0) result.erase(monomial);
      }
      return result;
    }
    case ExpressionOp::kMul: {
      const Polynomial right = polynomial(expression.b);
      for (const auto& [left_monomial, left_coefficient] : polynomial(expression.a)) {
        for (const auto& [right_monomial, right_coefficient] : right) {
          const Monomial monomial = joined(left_monomial, right_monomial);
          int64_t& slot = result[monomial];
          slot = saturating_add(slot, saturating_multiply(left_coefficient, right_coefficient));
          if (slot == 0) result.erase(monomial);
        }
      }
      return result;
    }
    default:
      result[{id}] = 1;
      return result;
  }
}

bool ExpressionTable::term_is_multiple(const Monomial& monomial, int64_t coefficient,
                                       int64_t divisor) const {
  int64_t remainder = divisor / std::gcd(coefficient, divisor);
  for (const ExpressionId atom : monomial) {
    const Expression& expression = (*this)[atom];
    if (expression.op == ExpressionOp::kSymbol) {
      remainder /= std::gcd(remainder, symbol(static_cast<SymbolId>(expression.value)).divisor);
    } else if (expression.op == ExpressionOp::kFloorDiv) {
      // The quotient x / k is a multiple of r where x is a multiple of k*r.
      const auto by = as_constant(expression.b);
      if (by && remainder > 1 && is_multiple(expression.a, saturating_multiply(*by, remainder)))
        remainder = 1;
    }
  }
  return remainder == 1;
}

bool ExpressionTable::is_multiple(ExpressionId id, int64_t divisor) const {
  if (divisor == 1) return true;
  if (divisor <= 0 || divisor == kHigh) return false;
  const Polynomial terms = polynomial(id);
  return std::all_of(terms.begin(), terms.end(), [&](const auto& term) {
    return term_is_multiple(term.first, term.second, divisor);
  });
}

// Rewrites k*m*floordiv(x, d) where d divides x and g = gcd(k, d) is above 1: adds
// (k/g)*m*floordiv(x, d/g) to the sum instead and returns true.
bool ExpressionTable::cancel_division(Polynomial& sum, const Monomial& monomial,
                                      int64_t coefficient) {
  for (size_t i = 0; i < monomial.size(); ++i) {
    const Expression atom = (*this)[monomial[i]];
    if (atom.op != ExpressionOp::kFloorDiv) continue;
    const auto divisor = as_constant(atom.b);
    if (!divisor) continue;
    const int64_t common = std::gcd(coefficient, *divisor);
    if (common <= 1 || !is_multiple(atom.a, *divisor)) continue;
    const ExpressionId quotient = floor_divide(atom.a, constant(*divisor / common));
    Monomial remainder = monomial;
    remainder.erase(remainder.begin() + static_cast<std::ptrdiff_t>(i));
    for (const auto& [inner, inner_coefficient] : polynomial(quotient)) {
      add_term(sum, joined(remainder, inner),
               saturating_multiply(coefficient / common, inner_coefficient));
    }
    return true;
  }
  return false;
}

void ExpressionTable::add_term(Polynomial& sum, const Monomial& monomial, int64_t coefficient) {
  if (coefficient == 0 || cancel_division(sum, monomial, coefficient)) return;
  int64_t& slot = sum[monomial];
  slot = saturating_add(slot, coefficient);
  if (slot == 0) sum.erase(monomial);
}

ExpressionId ExpressionTable::from_polynomial(Polynomial terms) {
  Polynomial sum = no_terms();
  for (const auto& [monomial, coefficient] : terms) add_term(sum, monomial, coefficient);
  ExpressionId result = -1;
  const auto append = [&](ExpressionId term) {
    result = result < 0 ? term : intern({ExpressionOp::kAdd, result, term, 0});
  };
  int64_t constant_term = 0;
  for (const auto& [monomial, coefficient] : sum) {
    if (monomial.empty()) {
      constant_term = coefficient;
      continue;
    }
    ExpressionId product = monomial[0];
    for (size_t i = 1; i < monomial.size(); ++i)
      product = intern({ExpressionOp::kMul, product, monomial[i], 0});
    if (coefficient != 1) {
      const ExpressionId factor = constant(coefficient);
      product = intern({ExpressionOp::kMul, factor, product, 0});
    }
    append(product);
  }
  if (constant_term != 0 || result < 0) append(constant(constant_term));
  return result;
}

ExpressionId ExpressionTable::add(ExpressionId a, ExpressionId b) {
  Polynomial sum = polynomial(a);
  for (const auto& [monomial, coefficient] : polynomial(b)) add_term(sum, monomial, coefficient);
  return from_polynomial(std::move(sum));
}

ExpressionId ExpressionTable::subtract(ExpressionId a, ExpressionId b) {
  return add(a, multiply(constant(-1), b));
}

ExpressionId ExpressionTable::multiply(ExpressionId a, ExpressionId b) {
  Polynomial product = no_terms();
  const Polynomial right = polynomial(b);
  for (const auto& [left_monomial, left_coefficient] : polynomial(a)) {
    for (const auto& [right_monomial, right_coefficient] : right) {
      add_term(product, joined(left_monomial, right_monomial),
               saturating_multiply(left_coefficient, right_coefficient));
    }
  }
  return from_polynomial(std::move(product));
}

// Divides exactly by a single term, when every term of the dividend contains it.
std::optional<ExpressionTable::Polynomial> ExpressionTable::divide_by_monomial(
    const Polynomial& dividend, const Polynomial& divisor) const {
  if (divisor.size() != 1) return std::nullopt;
  const auto& [by, by_coefficient] = *divisor.begin();
  Polynomial quotient = no_terms();
  const ByStructure before{this};
  for (const auto& [monomial, coefficient] : dividend) {
    if (by_coefficient == 0 || coefficient % by_coefficient != 0) return std::nullopt;
    if (!std::includes(monomial.begin(), monomial.end(), by.begin(), by.end(), before))
      return std::nullopt;
    Monomial remainder;
    std::set_difference(monomial.begin(), monomial.end(), by.begin(), by.end(),
                        std::back_inserter(remainder), before);
    quotient[remainder] = coefficient / by_coefficient;
  }
  return quotient;
}

ExpressionId ExpressionTable::floor_divide_constant(const Polynomial& dividend, int64_t divisor) {
  Polynomial whole = no_terms();  // the terms whose coefficient alone the divisor divides
  Polynomial remainder = no_terms();
  int64_t constant_term = 0;
  bool remainder_divisible = true;
  for (const auto& [monomial, coefficient] : dividend) {
    if (monomial.empty()) {
      constant_term = coefficient;
    } else if (coefficient % divisor == 0) {
      add_term(whole, monomial, coefficient / divisor);
    } else {
      remainder_divisible = remainder_divisible && term_is_multiple(monomial, coefficient, divisor);
      remainder[monomial] = coefficient;
    }
  }
  // The constant's whole multiples leave the floordiv. When the divisor divides the remaining
  // terms, the constant leaves entirely.
  const int64_t outside = floor_quotient(constant_term, divisor);
  const int64_t inside = remainder_divisible ? 0 : constant_term - outside * divisor;
  if (outside != 0) add_term(whole, {}, outside);
  if (remainder.empty()) return from_polynomial(std::move(whole));
  if (inside != 0) remainder[{}] = inside;
  const ExpressionId remaining = from_polynomial(remainder);
  const Expression inner = (*this)[remaining];
  ExpressionId quotient = -1;
  // Uses floordiv(floordiv(x, a), b) = floordiv(x, a*b).
  if (inner.op == ExpressionOp::kFloorDiv && as_constant(inner.b)) {
    quotient = floor_divide(inner.a, constant(saturating_multiply(*as_constant(inner.b), divisor)));
  } else {
    const Interval range = bounds(remaining);
    if (range.low >= 0 && range.high < divisor) return from_polynomial(std::move(whole));
    quotient = intern({ExpressionOp::kFloorDiv, remaining, constant(divisor), 0});
  }
  return add(from_polynomial(std::move(whole)), quotient);
}

ExpressionId ExpressionTable::floor_divide(ExpressionId a, ExpressionId b) {
  const auto divisor = as_constant(b);
  if (divisor && *divisor == 1) return a;
  const Polynomial dividend = polynomial(a);
  if (divisor && *divisor > 0) return floor_divide_constant(dividend, *divisor);
  if (const auto quotient = divide_by_monomial(dividend, polynomial(b));
      quotient && !dividend.empty())
    return from_polynomial(*quotient);
  return intern({ExpressionOp::kFloorDiv, a, b, 0});
}

ExpressionId ExpressionTable::ceil_divide(ExpressionId a, ExpressionId b) {
  return floor_divide(subtract(add(a, b), constant(1)), b);
}

ExpressionId ExpressionTable::modulo(ExpressionId a, ExpressionId b) {
  return subtract(a, multiply(b, floor_divide(a, b)));
}

// Recognizes max(a, min(a, b)) and min(a, max(a, b)), which are a.
bool ExpressionTable::absorbs(ExpressionId a, ExpressionId b, ExpressionOp dual) const {
  const Expression& e = (*this)[b];
  return e.op == dual && (e.a == a || e.b == a);
}

ExpressionId ExpressionTable::minimum(ExpressionId a, ExpressionId b) {
  if (absorbs(a, b, ExpressionOp::kMax)) return a;
  if (absorbs(b, a, ExpressionOp::kMax)) return b;
  const Interval difference = bounds(subtract(a, b));
  if (difference.high <= 0) return a;
  if (difference.low >= 0) return b;
  return intern(is_before(a, b) ? Expression{ExpressionOp::kMin, a, b, 0}
                                : Expression{ExpressionOp::kMin, b, a, 0});
}

ExpressionId ExpressionTable::maximum(ExpressionId a, ExpressionId b) {
  if (absorbs(a, b, ExpressionOp::kMin)) return a;
  if (absorbs(b, a, ExpressionOp::kMin)) return b;
  const Interval difference = bounds(subtract(a, b));
  if (difference.low >= 0) return a;
  if (difference.high <= 0) return b;
  return intern(is_before(a, b) ? Expression{ExpressionOp::kMax, a, b, 0}
                                : Expression{ExpressionOp::kMax, b, a, 0});
}

ExpressionId ExpressionTable::make(ExpressionOp op, ExpressionId a, ExpressionId b) {
  switch (op) {
    case ExpressionOp::kAdd:
      return add(a, b);
    case ExpressionOp::kMul:
      return multiply(a, b);
    case ExpressionOp::kFloorDiv:
      return floor_divide(a, b);
    case ExpressionOp::kCeilDiv:
      return ceil_divide(a, b);
    case ExpressionOp::kMod:
      return modulo(a, b);
    case ExpressionOp::kMin:
      return minimum(a, b);
    case ExpressionOp::kMax:
      return maximum(a, b);
    default:
      return a;
  }
}

Interval ExpressionTable::bounds(ExpressionId id) const {
  const Expression& e = (*this)[id];
  switch (e.op) {
    case ExpressionOp::kConstant:
      return {e.value, e.value};
    case ExpressionOp::kSymbol:
      return {symbol(static_cast<SymbolId>(e.value)).low,
              symbol(static_cast<SymbolId>(e.value)).high};
    default:
      break;
  }
  const Interval a = bounds(e.a);
  const Interval b = bounds(e.b);
  switch (e.op) {
    case ExpressionOp::kAdd:
      return {saturating_add(a.low, b.low), saturating_add(a.high, b.high)};
    case ExpressionOp::kMul:
      return multiply_intervals(a, b);
    case ExpressionOp::kFloorDiv:
      return divide_intervals(a, b);
    case ExpressionOp::kMin:
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case ExpressionOp::kMax:
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    default:
      return {};
  }
}

ExpressionId ExpressionTable::renormalize(ExpressionId id) { return substitute(id, {}); }

ExpressionId ExpressionTable::substitute(ExpressionId id,
                                         std::span<const ExpressionId> replacement) {
  const Expression e = (*this)[id];
  if (e.op == ExpressionOp::kConstant) return id;
  if (e.op == ExpressionOp::kSymbol) {
    const auto index = static_cast<size_t>(e.value);
    return index < replacement.size() && replacement[index] >= 0 ? replacement[index] : id;
  }
  const ExpressionId a = substitute(e.a, replacement);
  const ExpressionId b = substitute(e.b, replacement);
  return make(e.op, a, b);
}

bool ExpressionTable::prove_equal(ExpressionId a, ExpressionId b) {
  return a == b || renormalize(a) == renormalize(b);
}

Symbol& ExpressionTable::learn(SymbolId id) {
  Symbol& known = symbol(id);
  lessons_.push_back({id, known.low, known.high, known.divisor});
  return known;
}

void ExpressionTable::forget_since(size_t mark) {
  for (; lessons_.size() > mark; lessons_.pop_back()) {
    const Lesson& lesson = lessons_.back();
    Symbol& known = symbol(lesson.symbol);
    known.low = lesson.low;
    known.high = lesson.high;
    known.divisor = lesson.divisor;
  }
}

// Handles min(symbol, c) equal to the symbol, which means that the symbol is at most c.
bool ExpressionTable::require_within(ExpressionId cut, ExpressionId whole) {
  const Expression minimum = (*this)[cut];
  const Expression uncut = (*this)[whole];
  if (minimum.op != ExpressionOp::kMin || uncut.op != ExpressionOp::kSymbol) return false;
  if (minimum.a != whole && minimum.b != whole) return false;
  const auto limit = as_constant(minimum.a == whole ? minimum.b : minimum.a);
  const auto bounded = static_cast<SymbolId>(uncut.value);
  if (!limit || *limit < symbol(bounded).low) return false;
  if (*limit < symbol(bounded).high) learn(bounded).high = *limit;
  return true;
}

std::optional<ExpressionTable::Demand> ExpressionTable::demanded_divisor(
    const Polynomial& zero, const Monomial& monomial) const {
  if (monomial.size() != 1 || (*this)[monomial[0]].op != ExpressionOp::kSymbol) return std::nullopt;
  int64_t divisor = 0;  // gcd of all other terms, which therefore divides this one
  for (const auto& [other, coefficient] : zero) {
    if (other != monomial) divisor = std::gcd(divisor, coefficient);
  }
  const int64_t wanted = divisor == 0 ? 0 : divisor / std::gcd(divisor, zero.at(monomial));
  return Demand{static_cast<SymbolId>((*this)[monomial[0]].value), wanted};
}

std::vector<ExpressionTable::Demand> ExpressionTable::demanded_divisors(
    const Polynomial& zero) const {
  std::vector<Demand> demands;
  for (const auto& [monomial, coefficient] : zero) {
    if (const auto demand = demanded_divisor(zero, monomial)) demands.push_back(*demand);
    for (const ExpressionId atom : monomial) {
      const Expression division = (*this)[atom];
      if (division.op != ExpressionOp::kFloorDiv || (*this)[division.a].op != ExpressionOp::kSymbol)
        continue;
      demands.push_back(
          {static_cast<SymbolId>((*this)[division.a].value), as_constant(division.b).value_or(0)});
    }
  }
  return demands;
}

bool ExpressionTable::require_equal(ExpressionId a, ExpressionId b) {
  if (require_within(a, b) || require_within(b, a)) return true;
  const size_t before = mark();
  for (int round = 0; round < 8; ++round) {
    if (prove_equal(a, b)) return true;
    bool raised = false;
    for (const Demand& demand :
         demanded_divisors(polynomial(subtract(renormalize(a), renormalize(b))))) {
      if (demand.divisor < 1 || demand.divisor > (int64_t{1} << 31)) continue;
      const int64_t wanted = std::lcm(symbol(demand.symbol).divisor, demand.divisor);
      if (wanted == symbol(demand.symbol).divisor) continue;
      raised = true;
      learn(demand.symbol).divisor = wanted;
    }
    if (!raised) break;
  }
  forget_since(before);
  return false;
}

// Returns true when the expression has no symbol but `only` (the first one met) and never falls
// while that symbol rises.
bool ExpressionTable::grows_with(ExpressionId id, std::optional<SymbolId>& only) const {
  const Expression& e = (*this)[id];
  if (e.op == ExpressionOp::kConstant) return true;
  if (e.op == ExpressionOp::kSymbol) {
    if (!only) only = static_cast<SymbolId>(e.value);
    return *only == e.value;
  }
  if (!grows_with(e.a, only) || !grows_with(e.b, only)) return false;
  if (e.op == ExpressionOp::kMul) return bounds(e.a).low >= 0 && bounds(e.b).low >= 0;
  return e.op != ExpressionOp::kFloorDiv || as_constant(e.b).value_or(0) > 0;
}

// Computes the value where every symbol is `number`; no division in the expression is by a symbol.
int64_t ExpressionTable::value_at(ExpressionId id, int64_t number) const {
  return *evaluate(id, std::vector<int64_t>(symbols_.size(), number));
}

bool ExpressionTable::require_min(ExpressionId id, int64_t low) {
  const Interval range = bounds(id);
  if (range.low >= low) return true;
  if (range.high < low) return false;
  std::optional<SymbolId> only;
  if (!grows_with(id, only)) return true;
  const SymbolOrigin origin = symbol(*only).origin;
  if (origin != SymbolOrigin::kInputDim && origin != SymbolOrigin::kOpenDim) return true;
  constexpr int64_t kMax = int64_t{1} << 40;
  int64_t small = symbol(*only).low;
  int64_t large = std::min(symbol(*only).high, kMax);
  if (small > large || value_at(id, large) < low) return false;
  while (small < large) {  // finds the smallest sufficient value
    const int64_t middle = small + (large - small) / 2;
    if (value_at(id, middle) >= low) {
      large = middle;
    } else {
      small = middle + 1;
    }
  }
  learn(*only).low = small;
  return true;
}

bool ExpressionTable::raise_lows(ExpressionId id) {
  const Expression e = (*this)[id];
  if (e.op == ExpressionOp::kConstant) return false;
  if (e.op != ExpressionOp::kSymbol) {
    const bool first = raise_lows(e.a);
    return raise_lows(e.b) || first;
  }
  const auto only = static_cast<SymbolId>(e.value);
  if (symbol(only).origin != SymbolOrigin::kOpenDim || symbol(only).low > 0) return false;
  learn(only).low = 1;
  return true;
}

bool ExpressionTable::assume_positive(ExpressionId id) {
  if (bounds(id).low >= 1) return true;
  const size_t before = mark();
  if (raise_lows(id) && bounds(id).low >= 1) return true;
  forget_since(before);
  return false;
}

ExpressionId ExpressionTable::make_simple(ExpressionOp op, ExpressionId a, ExpressionId b) {
  const ExpressionId made = make(op, a, b);
  if ((*this)[made].op != op || op == ExpressionOp::kAdd || op == ExpressionOp::kMul) return made;
  const size_t before = mark();
  if (raise_lows(made)) {
    const ExpressionId simpler = make(op, a, b);
    if ((*this)[simpler].op != op) return simpler;
    forget_since(before);
  }
  return made;
}

Result<int64_t> ExpressionTable::evaluate(ExpressionId id, std::span<const int64_t> symbols) const {
  return evaluate(id, [symbols](SymbolId symbol) { return symbols[static_cast<size_t>(symbol)]; });
}

Result<int64_t> ExpressionTable::evaluate(ExpressionId id,
                                          FunctionRef<int64_t(SymbolId)> value_of) const {
  const Expression& e = (*this)[id];
  if (e.op == ExpressionOp::kConstant) return e.value;
  if (e.op == ExpressionOp::kSymbol) return value_of(static_cast<SymbolId>(e.value));
  SLUICE_ASSIGN(const int64_t a, evaluate(e.a, value_of));
  SLUICE_ASSIGN(const int64_t b, evaluate(e.b, value_of));
  switch (e.op) {
    case ExpressionOp::kAdd:
      return saturating_add(a, b);
    case ExpressionOp::kMul:
      return saturating_multiply(a, b);
    case ExpressionOp::kMin:
      return std::min(a, b);
    case ExpressionOp::kMax:
      return std::max(a, b);
    default:
      if (b == 0)
        return make_error(ErrorCode::kBadShape, "a dimension divides by zero: {}", text(id));
      return floor_quotient(a, b);
  }
}

std::string ExpressionTable::text(ExpressionId id) const {
  const Expression& e = (*this)[id];
  const auto factor = [&](ExpressionId operand) {
    return (*this)[operand].op == ExpressionOp::kAdd ? fmt::format("({})", text(operand))
                                                     : text(operand);
  };
  switch (e.op) {
    case ExpressionOp::kConstant:
      return fmt::format("{}", e.value);
    case ExpressionOp::kSymbol:
      return symbol(static_cast<SymbolId>(e.value)).name;
    case ExpressionOp::kAdd:
      return sum_text(text(e.a), text(e.b), begins_negative(*this, e.b));
    case ExpressionOp::kMul:
      return fmt::format("{}*{}", factor(e.a), factor(e.b));
    case ExpressionOp::kFloorDiv:
      return fmt::format("floordiv({}, {})", text(e.a), text(e.b));
    case ExpressionOp::kCeilDiv:
      return fmt::format("ceildiv({}, {})", text(e.a), text(e.b));
    case ExpressionOp::kMod:
      return fmt::format("mod({}, {})", text(e.a), text(e.b));
    case ExpressionOp::kMin:
      return fmt::format("min({}, {})", text(e.a), text(e.b));
    case ExpressionOp::kMax:
      return fmt::format("max({}, {})", text(e.a), text(e.b));
  }
  return {};
}

}  // namespace sluice
