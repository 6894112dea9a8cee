// Dimension expressions: integers over symbols, hash-consed and always in one normal form, so that
// equal expressions have equal ids.
//
// Normal form: a sum of monomials (a coefficient times sorted atoms), sorted, the constant last. An
// atom is a symbol or a floordiv, min or max of normal forms. The sort order of terms, and of the
// operands of min and max, depends on their content and on the order of the symbols, never on when
// they were made, so a printed expression parses to the same normal form in any table. ceildiv(a,
// b) becomes floordiv(a + b - 1, b), and mod(a, b) becomes a - b*floordiv(a, b). A floordiv by a
// constant gives up every term that the constant divides (using the divisors of symbols), and
// k*floordiv(x, d) becomes (k/g)*floordiv(x, d/g), g = gcd(k, d), where d divides x. Arithmetic
// saturates at the ends of int64.
//
// A product of sums has as many terms as the product of their numbers of terms, so code that makes
// expressions of a model's choosing calls stays_small first.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/function_ref.h"
#include "common/base/result.h"

namespace sluice {

using ExpressionId = int32_t;
using SymbolId = int32_t;

enum class ExpressionOp : uint8_t {
  kConstant,
  kSymbol,
  kAdd,
  kMul,
  kFloorDiv,
  kCeilDiv,
  kMod,
  kMin,
  kMax
};

struct Expression {
  ExpressionOp op = ExpressionOp::kConstant;
  ExpressionId a = -1;  // operands have smaller ids
  ExpressionId b = -1;
  int64_t value = 0;  // kConstant: the number. kSymbol: the SymbolId
  auto operator<=>(const Expression&) const = default;
};

// kOpenDim: the dim of an input whose bounds no option gives. Where inference of a model's types
// knows more, it raises its low from 0 to 1 (assume_positive); then it is a kInputDim.
enum class SymbolOrigin : uint8_t { kInputDim, kInputValue, kNodeResult, kOpenDim };

struct Symbol {
  std::string name;
  SymbolOrigin origin = SymbolOrigin::kInputDim;
  // The value it is read from: the dim `axis` of an input, element `axis` of an input's value, or a
  // result's dim; -1 when that value is in another file.
  int32_t graph = 0;
  int32_t value = 0;
  int32_t axis = 0;
  int64_t low = 0;
  int64_t high = INT64_MAX;
  int64_t divisor = 1;  // the symbol is a multiple of it
};

struct Interval {
  int64_t low = INT64_MIN;
  int64_t high = INT64_MAX;
};

class ExpressionTable {
 public:
  SymbolId add_symbol(Symbol symbol);  // the name is not changed
  Symbol& symbol(SymbolId id) { return symbols_[static_cast<size_t>(id)]; }
  const Symbol& symbol(SymbolId id) const { return symbols_[static_cast<size_t>(id)]; }
  std::optional<SymbolId> find_symbol(std::string_view name) const;
  size_t symbol_count() const { return symbols_.size(); }
  size_t size() const { return expressions_.size(); }
  const Expression& operator[](ExpressionId id) const {
    return expressions_[static_cast<size_t>(id)];
  }

  ExpressionId constant(int64_t value);
  ExpressionId symbol_expression(SymbolId id);
  ExpressionId add(ExpressionId a, ExpressionId b);
  ExpressionId subtract(ExpressionId a, ExpressionId b);
  ExpressionId multiply(ExpressionId a, ExpressionId b);
  ExpressionId floor_divide(ExpressionId a, ExpressionId b);  // b is assumed to be positive
  ExpressionId ceil_divide(ExpressionId a, ExpressionId b);
  ExpressionId modulo(ExpressionId a, ExpressionId b);
  ExpressionId minimum(ExpressionId a, ExpressionId b);
  ExpressionId maximum(ExpressionId a, ExpressionId b);
  // Dispatches on op, for readers; not for constants and symbols.
  ExpressionId make(ExpressionOp op, ExpressionId a, ExpressionId b);

  // An expression is small when it has, written out, at most kMaxSize leaves and operators, no sum
  // of more than kMaxTerms terms, and products, divisions, min and max nested at most kMaxDepth
  // deep. Readers accept only small expressions; a larger one is better left unknown.
  static constexpr int64_t kMaxTerms = 256;
  static constexpr int64_t kMaxSize = 4096;
  static constexpr int64_t kMaxDepth = 256;
  bool is_small(ExpressionId id) const { return is_small(extent(id)); }
  // Returns true when the result of op on a and b is small, by an estimate in constant time that is
  // slightly too low where a division splits.
  bool stays_small(ExpressionOp op, ExpressionId a, ExpressionId b) const;

  std::optional<int64_t> as_constant(ExpressionId id) const;
  Interval bounds(ExpressionId id) const;
  bool is_multiple(ExpressionId id, int64_t divisor) const;  // proved to be a multiple
  // Proves equality for every value of the symbols. Re-normalizes both, so that divisors and bounds
  // learned since they were made are used.
  bool prove_equal(ExpressionId a, ExpressionId b);
  // Does the same as prove_equal, and where the two differ only by remainders of symbols (H and
  // 2*floordiv(H, 2), or H and 4*x for any x), requires these remainders to be zero by raising the
  // symbols' divisors and returns true. Where one is a symbol limited by a constant (S and min(S,
  // 512)), it lowers the symbol's high. A model that violates the requirement has no valid shapes
  // at all. Symbols are unchanged when the result is false.
  bool require_equal(ExpressionId a, ExpressionId b);
  // Requires the expression to be at least `low`, by raising the low of its symbol, where it has a
  // single symbol that is the dim of an input and it grows with that symbol. Returns false when no
  // value of that symbol suffices.
  bool require_min(ExpressionId id, int64_t low);
  // Raises to 1 the lows of the expression's open symbols; returns whether one was lower.
  bool raise_lows(ExpressionId id);
  // Does so if the expression is at least 1 then. Returns whether it is.
  bool assume_positive(ExpressionId id);
  // Returns what make() does; or, if that is a division, min or max which is simpler where its open
  // symbols are at least 1, raises them and returns the simpler expression.
  ExpressionId make_simple(ExpressionOp op, ExpressionId a, ExpressionId b);
  // Undoes what requirements taught about symbols since the call of mark(). Values that were
  // inferred meanwhile from it must not be used afterwards.
  size_t mark() const { return lessons_.size(); }
  void forget_since(size_t mark);
  // Returns the same expression normalized with what is known about its symbols now.
  ExpressionId renormalize(ExpressionId id);
  // Computes the value for given symbol values (indexed by SymbolId); fails when a division is by
  // zero.
  Result<int64_t> evaluate(ExpressionId id, std::span<const int64_t> symbols) const;
  // Does the same with a function that is called for the symbols of this expression only.
  Result<int64_t> evaluate(ExpressionId id, FunctionRef<int64_t(SymbolId)> value_of) const;
  // Replaces symbols by expressions (by SymbolId; -1 keeps the symbol).
  ExpressionId substitute(ExpressionId id, std::span<const ExpressionId> replacement);
  // Returns "2*floordiv(H, 2) + 1", as in the textual graph.
  std::string text(ExpressionId id) const;

 private:
  using Monomial = std::vector<ExpressionId>;  // sorted atoms; empty for the constant
  struct ByStructure {
    const ExpressionTable* table;
    bool operator()(ExpressionId a, ExpressionId b) const { return table->is_before(a, b); }
    bool operator()(const Monomial& a, const Monomial& b) const;
  };
  using Polynomial = std::map<Monomial, int64_t, ByStructure>;

  // The length of an expression, written out: shared operands count each time. Saturates.
  struct Extent {
    int64_t terms = 1;
    int64_t size = 1;
    int64_t widest = 1;  // terms of its longest sum
    int64_t depth = 0;   // of products, divisions, min and max
  };

  // The facts about a symbol before a requirement changed them.
  struct Lesson {
    SymbolId symbol;
    int64_t low;
    int64_t high;
    int64_t divisor;
  };
  struct Demand {
    SymbolId symbol;
    int64_t divisor;
  };

  ExpressionId intern(const Expression& expression);
  // Defines a total order by content: symbols first, in their order, constants last. Walks along
  // one path down both.
  bool is_before(ExpressionId a, ExpressionId b) const;
  Monomial joined(const Monomial& a, const Monomial& b) const;
  Polynomial no_terms() const { return Polynomial(ByStructure{this}); }
  const Extent& extent(ExpressionId id) const { return extents_[static_cast<size_t>(id)]; }
  static bool is_small(const Extent& extent);
  static Extent extent_of(ExpressionOp op, const Extent& a, const Extent& b);  // an upper bound
  // Returns the requirement on the symbol of the term `monomial` when the polynomial is zero: the
  // symbol is a multiple of the gcd of all other terms.
  std::optional<Demand> demanded_divisor(const Polynomial& zero, const Monomial& monomial) const;
  // Returns that requirement, and for each floordiv of a symbol that its remainder is zero.
  std::vector<Demand> demanded_divisors(const Polynomial& zero) const;
  Polynomial polynomial(ExpressionId id) const;
  ExpressionId from_polynomial(Polynomial polynomial);
  bool term_is_multiple(const Monomial& monomial, int64_t coefficient, int64_t divisor) const;
  void add_term(Polynomial& sum, const Monomial& monomial, int64_t coefficient);
  bool absorbs(ExpressionId a, ExpressionId b, ExpressionOp dual) const;
  Symbol& learn(SymbolId id);  // for a change; the previous facts are recorded
  bool require_within(ExpressionId cut, ExpressionId whole);
  bool grows_with(ExpressionId id, std::optional<SymbolId>& only) const;
  int64_t value_at(ExpressionId id, int64_t number) const;
  bool cancel_division(Polynomial& sum, const Monomial& monomial, int64_t coefficient);
  std::optional<Polynomial> divide_by_monomial(const Polynomial& dividend,
                                               const Polynomial& divisor) const;
  ExpressionId floor_divide_constant(const Polynomial& dividend, int64_t divisor);

  std::vector<Expression> expressions_;
  std::vector<Extent> extents_;  // by ExpressionId
  std::map<Expression, ExpressionId> index_;
  std::vector<Symbol> symbols_;
  std::vector<Lesson> lessons_;
  std::map<std::string, SymbolId, std::less<>> symbol_names_;  // the first symbol of each name
};

}  // namespace sluice
