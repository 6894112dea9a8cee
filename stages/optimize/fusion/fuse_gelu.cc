// Makes one Gelu of the nodes that exporters write for it.
//
//   before:  %1 = Div(%x, 1.41421356)   %2 = Erf(%1)   %3 = Add(%2, 1)
//            %4 = Mul(%x, %3)           %y = Mul(%4, 0.5)
//   after:   %y = Gelu(%x)
//
// The factors x, 0.5 and the sum may be multiplied in any order. With Tanh instead of Erf its
// argument must be 0.79788456 x + 0.035677408 x^3, written in any way with +, -, *, / and Pow; the
// result is Gelu with approximate = "tanh".
//
// Legal because Gelu means that formula; constants may differ from it by their rounding. No value
// in between may be read elsewhere. Must run before epilogues are fused: there a Gelu is one node
// that reads its operand once.
#include <array>

#include "common/ops/attributes.h"
#include "common/pass/pattern_matcher.h"
#include "stages/optimize/constants.h"
#include "stages/optimize/fusion/decomposition.h"
#include "stages/optimize/fusion/fusion.h"

namespace sluice {
namespace {

constexpr double kInverseRoot = 0.70710678118654752;  // 1 / sqrt(2)
constexpr double kTanhFactor = 0.79788456080286536;   // sqrt(2 / pi)
constexpr double kCube = 0.044715;

// Coefficients of 1, x, x^2, x^3.
using Polynomial = std::array<double, 4>;
constexpr int kMaxPolynomialDepth = 7;

std::optional<Polynomial> multiply(const Polynomial& a, const Polynomial& b) {
  Polynomial product{};
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t k = 0; k < b.size(); ++k) {
      if (a[i] == 0 || b[k] == 0) continue;
      if (i + k >= product.size()) return std::nullopt;
      product[i + k] += a[i] * b[k];
    }
  }
  return product;
}

Polynomial add(const Polynomial& a, const Polynomial& b, double sign) {
  Polynomial sum{};
  for (size_t i = 0; i < sum.size(); ++i) sum[i] = a[i] + sign * b[i];
  return sum;
}

std::optional<Polynomial> power(const Polynomial& base, const Value* exponent) {
  if (is_number(exponent, 2)) return multiply(base, base);
  if (!is_number(exponent, 3)) return std::nullopt;
  const auto square = multiply(base, base);
  return square ? multiply(*square, base) : std::nullopt;
}

// Returns nothing for a value that is no polynomial in x, or one nested too deeply.
std::optional<Polynomial> read_polynomial(const Value& value, const Value& x, int depth = 0) {
  if (&value == &x) return Polynomial{0, 1, 0, 0};
  if (const auto number = find_number(&value)) return Polynomial{*number, 0, 0, 0};
  const Node* node = value.producer();
  if (node == nullptr || node->input_count() != 2 || depth == kMaxPolynomialDepth)
    return std::nullopt;
  const auto a = read_polynomial(*node->input(0), x, depth + 1);
  if (!a) return std::nullopt;
  if (node->op() == Op::kPow) return power(*a, node->input(1));
  const auto b = read_polynomial(*node->input(1), x, depth + 1);
  if (!b) return std::nullopt;
  switch (node->op()) {
    case Op::kAdd:
      return add(*a, *b, 1);
    case Op::kSub:
      return add(*a, *b, -1);
    case Op::kMul:
      return multiply(*a, *b);
    case Op::kDiv:
      return find_number(node->input(1)) ? multiply(*a, {1 / (*b)[0], 0, 0, 0}) : std::nullopt;
    default:
      return std::nullopt;
  }
}

bool is_argument(const Value& argument, const Value& x, const Polynomial& expected) {
  const auto found = read_polynomial(argument, x);
  if (!found) return false;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!is_close(x.type().dtype, (*found)[i], expected[i])) return false;
  }
  return true;
}

bool fuse_gelu_curve(Editor& editor, Node& curve, const Polynomial& argument, bool by_tanh) {
  Node* sum = find_only_reader(curve.output());
  if (sum == nullptr || read_sum(sum->output(), 1) != &curve.output()) return false;
  const auto found = find_gated(
      sum->output(), 0.5, [&](Value& x) { return is_argument(*curve.input(0), x, argument); });
  if (!found || found->x->type_id() != found->last->output().type_id()) return false;
  Node* gelu = replace_between(editor, {found->x}, *found->last, Op::kGelu);
  if (gelu == nullptr) return false;
  if (by_tanh) gelu->set(attributes::Gelu::approximate, std::string("tanh"));
  return true;
}

Result<bool> fuse_gelus(Graph& graph) {
  Editor editor(graph);
  const OpIndex index(graph);
  bool changed = false;
  for (Node* erf : index.nodes(Op::kErf))
    changed = fuse_gelu_curve(editor, *erf, {0, kInverseRoot, 0, 0}, false) || changed;
  for (Node* tanh : index.nodes(Op::kTanh))
    changed =
        fuse_gelu_curve(editor, *tanh, {0, kTanhFactor, 0, kTanhFactor * kCube}, true) || changed;
  return changed;
}

}  // namespace

Result<bool> fuse_gelu(Graph& root, const Options&) { return on_every_graph(root, fuse_gelus); }

}  // namespace sluice
