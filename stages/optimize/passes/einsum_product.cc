#include "stages/optimize/passes/einsum_product.h"

#include <algorithm>

#include "common/ops/dim_math.h"
#include "stages/optimize/node_maker.h"

namespace sluice {
namespace {

// A Transpose that stays costs more than any that a product reads through.
constexpr int kCopy = 4;

// Returns whether a Reshape can name the dims: at most one has to be -1.
bool can_reshape(const std::vector<Dim>& from, const std::vector<Dim>& to) {
  const bool are_known = std::ranges::none_of(to, [](const Dim& dim) { return dim.is_unknown(); });
  return are_known && (from == to || std::ranges::count(reshape_target(from, to), -1) <= 1);
}

int transpose_cost(const std::string& from, const std::string& to, bool is_joined) {
  if (from == to) return 0;
  const bool keeps_lines = !is_joined && to.find(from.back()) + 2 >= to.size();
  return keeps_lines ? 1 : kCopy;
}

std::vector<Dim> matrix(const EinsumDims& dims, const std::string& batch, const std::string& first,
                        const std::string& second) {
  std::vector<Dim> result = dims.of(batch);
  result.push_back(dims.joined(first));
  result.push_back(dims.joined(second));
  return result;
}

// Gives the product its matrices; returns false where they cannot be made.
bool add_matrices(const EinsumDims& dims, EinsumProduct& product) {
  const EinsumRoles& roles = product.roles;
  const std::string batch = product.lead + roles.batch;
  product.left = matrix(dims, batch, roles.rows, roles.sum);
  product.right = matrix(dims, roles.batch, roles.sum, roles.columns);
  product.result = matrix(dims, batch, roles.rows, roles.columns);
  return can_reshape(dims.of(product.left_letters()), product.left) &&
         can_reshape(dims.of(product.right_letters()), product.right) &&
         can_reshape(product.result, dims.of(product.result_letters()));
}

int cost_of(const EinsumProduct& product, const std::string& left, const std::string& right,
            const std::string& order) {
  const EinsumRoles& roles = product.roles;
  const bool joins_sum = roles.sum.size() > 1;
  return transpose_cost(left, product.left_letters(), joins_sum || roles.rows.size() > 1) +
         transpose_cost(right, product.right_letters(), joins_sum || roles.columns.size() > 1) +
         (order.empty() || order == product.result_letters() ? 0 : kCopy);
}

// Returns the roles with each order of letters that may save a copy: that of the terms, that of
// the result, and both with the sum in the order of the second term.
std::vector<EinsumRoles> orders_of(const EinsumRoles& own, const std::string& right,
                                   const std::string& order) {
  EinsumRoles wanted = own;
  for (std::string* letters : {&wanted.batch, &wanted.rows, &wanted.columns}) {
    if (!order.empty()) *letters = letters_among(order, *letters);
  }
  std::vector<EinsumRoles> orders;
  for (EinsumRoles roles : {own, wanted}) {
    orders.push_back(roles);
    roles.sum = letters_among(right, roles.sum);
    orders.push_back(roles);
  }
  return orders;
}

// Returns the product whose rows are one dim, and that whose rows but the last one lead.
std::vector<EinsumProduct> products_of(const EinsumRoles& roles, bool is_swapped) {
  std::vector<EinsumProduct> products = {{.roles = roles, .is_swapped = is_swapped}};
  if (roles.rows.size() < 2) return products;
  EinsumProduct& leading = products.emplace_back(products.front());
  leading.lead = roles.rows.substr(0, roles.rows.size() - 1);
  leading.roles.rows = roles.rows.back();
  return products;
}

}  // namespace

std::vector<Dim> EinsumDims::of(const std::string& letters) const {
  std::vector<Dim> result;
  for (const char letter : letters) result.push_back(dims.at(letter));
  return result;
}

Dim EinsumDims::joined(const std::string& letters) const {
  if (letters.size() == 1) return dims.at(letters[0]);
  return DimMath(module).product(of(letters));
}

std::string letters_among(const std::string& letters, const std::string& others) {
  std::string result;
  for (const char letter : letters) {
    if (has_letter(others, letter)) result += letter;
  }
  return result;
}

EinsumRoles einsum_roles(const std::string& a, const std::string& b, const std::string& wanted) {
  EinsumRoles roles;
  for (const char letter : a) {
    if (!has_letter(b, letter)) {
      roles.rows += letter;
    } else {
      (has_letter(wanted, letter) ? roles.batch : roles.sum) += letter;
    }
  }
  for (const char letter : b) {
    if (!has_letter(a, letter)) roles.columns += letter;
  }
  return roles;
}

std::optional<EinsumProduct> choose_einsum_product(const EinsumDims& dims, const std::string& a,
                                                   const std::string& b, const std::string& wanted,
                                                   const std::string& order) {
  std::optional<EinsumProduct> best;
  int min_cost = 0;
  for (const bool is_swapped : {false, true}) {
    const std::string &left = is_swapped ? b : a, &right = is_swapped ? a : b;
    for (const EinsumRoles& roles : orders_of(einsum_roles(left, right, wanted), right, order)) {
      for (EinsumProduct& product : products_of(roles, is_swapped)) {
        const int cost = cost_of(product, left, right, order);
        if ((best && cost >= min_cost) || !add_matrices(dims, product)) continue;
        best = product;
        min_cost = cost;
      }
    }
  }
  return best;
}

}  // namespace sluice
