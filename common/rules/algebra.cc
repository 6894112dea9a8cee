#include "common/rules/algebra.h"

#include <algorithm>

#include "common/pass/number.h"

namespace sluice::rules {
namespace {

constexpr int kMaxDepth = 12;
constexpr size_t kMaxNodes = 32;

using Coefficients = std::vector<double>;

std::optional<Coefficients> multiplied(const Coefficients& a, const Coefficients& b) {
  if (a.size() + b.size() > kMaxDegree + 2) return std::nullopt;
  Coefficients product(a.size() + b.size() - 1);
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t k = 0; k < b.size(); ++k) product[i + k] += a[i] * b[k];
  }
  return product;
}

Coefficients added(const Coefficients& a, const Coefficients& b, double sign) {
  Coefficients sum(std::max(a.size(), b.size()));
  for (size_t i = 0; i < a.size(); ++i) sum[i] += a[i];
  for (size_t i = 0; i < b.size(); ++i) sum[i] += sign * b[i];
  return sum;
}

std::optional<Coefficients> power(const Coefficients& base, const Value* exponent) {
  const auto number = find_number(exponent);
  if (!number || *number < 1 || *number > kMaxDegree || *number != static_cast<int>(*number))
    return std::nullopt;
  std::optional<Coefficients> result = base;
  for (int i = 1; i < static_cast<int>(*number) && result; ++i) result = multiplied(*result, base);
  return result;
}

class PolynomialReader {
 public:
  explicit PolynomialReader(const Value& x) : x_(x) {}

  std::optional<Coefficients> read(const Value& value, int depth) {
    if (&value == &x_) return Coefficients{0, 1};
    if (const auto number = find_number(&value)) return Coefficients{*number};
    Node* node = value.producer();
    if (node == nullptr || depth == kMaxDepth || node->input_count() == 0 ||
        node->input(0) == nullptr || nodes.size() == kMaxNodes || !is_arithmetic(*node))
      return std::nullopt;
    if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
    const auto a = read(*node->input(0), depth + 1);
    if (!a) return std::nullopt;
    if (node->op() == Op::kNeg) return multiplied(*a, {-1});
    if (node->op() == Op::kPow) return power(*a, node->input(1));
    const auto b = read(*node->input(1), depth + 1);
    return b ? joined(node->op(), *a, *b) : std::nullopt;
  }

  std::vector<Node*> nodes;

 private:
  static bool is_arithmetic(const Node& node) {
    constexpr Op kOps[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kPow, Op::kNeg};
    return std::ranges::find(kOps, node.op()) != std::end(kOps);
  }

  static std::optional<Coefficients> joined(Op op, const Coefficients& a, const Coefficients& b) {
    if (op == Op::kAdd) return added(a, b, 1);
    if (op == Op::kSub) return added(a, b, -1);
    if (op == Op::kMul) return multiplied(a, b);
    if (b.size() > 1 || b[0] == 0) return std::nullopt;  // a Div
    return multiplied(a, {1 / b[0]});
  }

  const Value& x_;
};

}  // namespace

std::optional<Product> expanded(const Product& product, size_t factor) {
  Node* node = product.factors[factor]->producer();
  if (node == nullptr || node->input_count() != 2 || product.nodes.size() == kMaxNodes)
    return std::nullopt;
  const auto first = find_number(node->input(0)), second = find_number(node->input(1));
  const bool is_quotient = node->op() == Op::kDiv && second && *second != 0;
  if (node->op() != Op::kMul && !is_quotient) return std::nullopt;
  Product result = product;
  result.nodes.push_back(node);
  result.factors.erase(result.factors.begin() + static_cast<std::ptrdiff_t>(factor));
  if (first) {
    result.number *= *first;
  } else {
    result.factors.push_back(node->input(0));
  }
  if (second) {
    result.number *= is_quotient ? 1 / *second : *second;
  } else {
    result.factors.push_back(node->input(1));
  }
  return result;
}

std::optional<Polynomial> read_polynomial(const Value& value, const Value& x) {
  PolynomialReader reader(x);
  auto coefficients = reader.read(value, 0);
  if (!coefficients) return std::nullopt;
  return Polynomial{std::move(*coefficients), std::move(reader.nodes)};
}

bool are_close(DType dtype, const std::vector<double>& found, const std::vector<double>& expected) {
  const auto at = [](const std::vector<double>& list, size_t i) {
    return i < list.size() ? list[i] : 0;
  };
  for (size_t i = 0; i < std::max(found.size(), expected.size()); ++i) {
    if (!is_close(dtype, at(found, i), at(expected, i))) return false;
  }
  return true;
}

}  // namespace sluice::rules
