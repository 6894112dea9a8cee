// Reads values as products and as polynomials, however they are spelled.
#pragma once

#include <optional>
#include <vector>

#include "common/ir/graph.h"

namespace sluice::rules {

// A value as a product of factors and a number, and the nodes that multiply them.
struct Product {
  std::vector<Value*> factors;
  double number = 1;
  std::vector<Node*> nodes;
};

// Returns the product with the factor replaced by the factors that a Mul, or a Div by a number,
// makes it of. Nothing for a factor that neither makes.
std::optional<Product> expanded(const Product& product, size_t factor);

// A value as a polynomial in x, written with +, -, *, / by a number, Neg and Pow, and the nodes
// that compute it.
struct Polynomial {
  std::vector<double> coefficients;  // of 1, x, x^2, …
  std::vector<Node*> nodes;
};

inline constexpr size_t kMaxDegree = 8;

// Returns nothing for a value that is no polynomial in x of at most kMaxDegree.
std::optional<Polynomial> read_polynomial(const Value& value, const Value& x);

// Returns whether the coefficients are equal up to rounding; missing ones are 0.
bool are_close(DType dtype, const std::vector<double>& found, const std::vector<double>& expected);

}  // namespace sluice::rules
