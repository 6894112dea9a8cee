// Chooses the matrix product that joins two terms of an Einsum.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/ir/module.h"

namespace sluice {

// The dims that letters stand for.
struct EinsumDims {
  Module& module;
  std::map<char, Dim> dims;

  std::vector<Dim> of(const std::string& letters) const;
  // Returns the letters as one dim, 1 for none; unknown where that cannot be said.
  Dim joined(const std::string& letters) const;
};

// The letters of two terms by what becomes of them.
struct EinsumRoles {
  std::string batch, sum, rows, columns;
};

// Roles of the letters of `a`, which gives the rows, and `b`. Those of both that are not wanted are
// summed over.
EinsumRoles einsum_roles(const std::string& a, const std::string& b, const std::string& wanted);

// Returns whether the letter is one of these.
inline bool has_letter(const std::string& letters, char letter) {
  return letters.find(letter) != std::string::npos;
}

// Returns the letters that are among the others.
std::string letters_among(const std::string& letters, const std::string& others);

// A product of matrices [lead, batch, rows, sum] and [batch, sum, columns], whose letters stand in
// this order; the second broadcasts to the lead, which are rows, too.
struct EinsumProduct {
  EinsumRoles roles;
  std::string lead;
  bool is_swapped = false;  // the second term gives the rows
  std::vector<Dim> left, right, result;

  std::string left_letters() const { return lead + roles.batch + roles.rows + roles.sum; }
  std::string right_letters() const { return roles.batch + roles.sum + roles.columns; }
  std::string result_letters() const { return lead + roles.batch + roles.rows + roles.columns; }
};

// Returns the product with the fewest copies: Transposes, but for those of operands through which a
// product can read (fuse_transposed_operands.cc). `order` is the wanted order of the result's
// letters, or empty for any. Several letters of one role are one dim. Returns nothing where no
// Reshape can say so, since more than one size is known only when running.
std::optional<EinsumProduct> choose_einsum_product(const EinsumDims& dims, const std::string& a,
                                                   const std::string& b, const std::string& wanted,
                                                   const std::string& order);

}  // namespace sluice
