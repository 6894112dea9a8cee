// Makes matrix products, transpositions and sums of an Einsum, operand by operand:
//
//   before:  %y = Einsum(%a, %b) {equation = "bik,bjk->bij"}
//   after:   %1 = Transpose(%b) {perm = [0, 2, 1]}   %y = MatMul(%a, %1)
//
// Letters that one operand alone has and nothing else wants are summed first. Of the letters of two
// operands those that are wanted later are the product's batch, and the others are its sum; several
// letters of rows, columns or sums become one dim. Without a sum, or for doubles, it is a Mul and a
// ReduceSum. Legal because this is the operator's definition; f16 and bf16 are computed in f32. The
// node stays where a letter occurs twice in a term or stands for different dims or for none, where
// the result of the Mul would be large, and where an annotation places or keeps it.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/ops/attributes.h"
#include "common/ops/einsum_equation.h"
#include "stages/optimize/constants.h"
#include "stages/optimize/editor.h"
#include "stages/optimize/node_maker.h"
#include "stages/optimize/passes/passes.h"

namespace sluice {
namespace {

constexpr int64_t kMaxProducts = int64_t{1} << 20;  // elements of a Mul

struct Equation {
  std::vector<std::string> operands;  // see EinsumEquation
  std::string result;
  std::map<char, Dim> dims;
};

bool has_repeats(std::string term) {
  std::sort(term.begin(), term.end());
  return std::adjacent_find(term.begin(), term.end()) != term.end();
}

// Adds the dims of an operand's letters; each stands for one dim, and not for none.
bool take_dims(const Type& type, const std::string& term, std::map<char, Dim>& dims) {
  for (size_t i = 0; i < term.size(); ++i) {
    const Dim& dim = dims.try_emplace(term[i], type.dims[i]).first->second;
    if (dim != type.dims[i] || dim == Dim::fixed(0)) return false;
  }
  return !has_repeats(term);
}

std::optional<Equation> read_equation(const Node& node) {
  std::vector<int64_t> ranks;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Type& type = node.input(i)->type();
    if (!type.is_tensor() || type.has_unknown()) return std::nullopt;
    ranks.push_back(type.rank());
  }
  const auto read = read_einsum(node.get(attributes::Einsum::equation), ranks);
  if (!read) return std::nullopt;
  Equation equation{read->operands, read->result, {}};
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (!take_dims(node.input(i)->type(), read->operands[i], equation.dims)) return std::nullopt;
  }
  const bool are_known = std::ranges::all_of(
      equation.result, [&](char letter) { return equation.dims.contains(letter); });
  return are_known && !has_repeats(equation.result) ? std::optional(equation) : std::nullopt;
}

bool has(const std::string& letters, char letter) {
  return letters.find(letter) != std::string::npos;
}

// A value with a letter for each dim.
struct Term {
  Value* value = nullptr;
  std::string letters;
};

// The letters of two operands by what becomes of them.
struct Roles {
  std::string batch, sum, rows, columns;
  std::string all() const { return batch + sum + rows + columns; }
};

Roles roles_of(const std::string& a, const std::string& b, const std::string& wanted) {
  Roles roles;
  for (const char letter : a) {
    if (!has(b, letter)) {
      roles.rows += letter;
    } else {
      (has(wanted, letter) ? roles.batch : roles.sum) += letter;
    }
  }
  for (const char letter : b)
    if (!has(a, letter)) roles.columns += letter;
  return roles;
}

std::vector<Dim> dims_of(const Equation& equation, const std::string& letters) {
  std::vector<Dim> dims;
  for (const char letter : letters) dims.push_back(equation.dims.at(letter));
  return dims;
}

// The letters that the operands after one, or the result, have.
std::string wanted_after(const Equation& equation, size_t operand) {
  std::string wanted = equation.result;
  for (size_t i = operand + 1; i < equation.operands.size(); ++i) wanted += equation.operands[i];
  return wanted;
}

std::string only(const std::string& letters, const std::string& wanted) {
  std::string result;
  for (const char letter : letters)
    if (has(wanted, letter)) result += letter;
  return result;
}

// Whether these letters can be one dim.
bool can_merge(const Equation& equation, const std::string& letters) {
  return letters.size() <= 1 || std::ranges::all_of(letters, [&](char letter) {
           return equation.dims.at(letter).is_fixed();
         });
}

// Whether two operands are joined by a matrix product; else by a Mul. Rows of several dims need not
// be one where the second operand has no batch.
bool is_product(const Equation& equation, const Roles& roles, DType dtype) {
  return dtype == DType::kF32 && !roles.sum.empty() && can_merge(equation, roles.sum) &&
         (can_merge(equation, roles.rows) || roles.batch.empty()) &&
         can_merge(equation, roles.columns);
}

// Whether no Mul has a large result.
bool is_small(const Equation& equation, DType dtype) {
  std::string sum = equation.operands[0];
  for (size_t i = 1; i < equation.operands.size(); ++i) {
    const std::string wanted = wanted_after(equation, i), other = equation.operands[i];
    sum = only(sum, other + wanted);
    const Roles roles = roles_of(sum, only(other, sum + wanted), wanted);
    const auto count = Type::tensor(dtype, dims_of(equation, roles.all())).element_count();
    if (!is_product(equation, roles, dtype) && (!count || *count > kMaxProducts)) return false;
    sum = only(roles.all(), wanted);
  }
  return true;
}

class Decomposer {
 public:
  Decomposer(NodeMaker& make, const Equation& equation, DType dtype)
      : make_(make), equation_(equation), dtype_(dtype) {}

  Value& run(const Node& node) {
    Term sum = operand(node, 0);
    for (size_t i = 1; i < node.input_count(); ++i) {
      const std::string wanted = wanted_after(equation_, i);
      const Term other = operand(node, i);
      sum = summed(sum, other.letters + wanted);
      const Term own = summed(other, sum.letters + wanted);
      const Roles roles = roles_of(sum.letters, own.letters, wanted);
      sum = is_product(equation_, roles, dtype_) ? product(sum, own, roles)
                                                 : multiplied(sum, own, roles);
    }
    return *ordered(summed(sum, equation_.result), equation_.result).value;
  }

 private:
  Term operand(const Node& node, size_t i) {
    return {&make_.cast(*node.input(i), dtype_), equation_.operands[i]};
  }

  // Sums over the letters that are not wanted.
  Term summed(const Term& term, const std::string& wanted) {
    std::vector<int64_t> axes;
    Term result;
    for (size_t i = 0; i < term.letters.size(); ++i) {
      if (has(wanted, term.letters[i]))
        result.letters += term.letters[i];
      else
        axes.push_back(static_cast<int64_t>(i));
    }
    if (axes.empty()) return term;
    Value& list = add_ints(term.value->graph(), axes);
    Node& made = make_.node(Op::kReduceSum, {term.value, &list},
                            Type::tensor(dtype_, dims_of(equation_, result.letters)));
    made.set(attributes::Reduce::keepdims, int64_t{0});
    result.value = &made.output();
    return result;
  }

  Term ordered(const Term& term, const std::string& letters) {
    if (term.letters == letters) return term;
    std::vector<int64_t> order;
    for (const char letter : letters)
      order.push_back(static_cast<int64_t>(term.letters.find(letter)));
    return {&make_.transpose(*term.value, order), letters};
  }

  Dim merged(const std::string& letters) const {
    if (letters.size() == 1) return equation_.dims.at(letters[0]);
    int64_t count = 1;
    for (const char letter : letters) count *= equation_.dims.at(letter).value;
    return Dim::fixed(count);
  }

  Value& reshaped(Value& x, const std::vector<Dim>& dims) {
    return x.type().dims == dims ? x : make_.reshape(x, dims);
  }

  // Adds the letters as one dim, or as they are where they cannot be one.
  void add_dims(std::vector<Dim>& dims, const std::string& letters) const {
    if (can_merge(equation_, letters)) {
      dims.push_back(merged(letters));
    } else {
      const std::vector<Dim> own = dims_of(equation_, letters);
      dims.insert(dims.end(), own.begin(), own.end());
    }
  }

  // The dims of the batch letters, then those of two groups.
  std::vector<Dim> matrix_dims(const Roles& roles, const std::string& first,
                               const std::string& second) const {
    std::vector<Dim> dims = dims_of(equation_, roles.batch);
    add_dims(dims, first);
    add_dims(dims, second);
    return dims;
  }

  Value& matrix(const Term& term, const Roles& roles, const std::string& first,
                const std::string& second) {
    return reshaped(*ordered(term, roles.batch + first + second).value,
                    matrix_dims(roles, first, second));
  }

  Term product(const Term& a, const Term& b, const Roles& roles) {
    Value& left = matrix(a, roles, roles.rows, roles.sum);
    Value& right = matrix(b, roles, roles.sum, roles.columns);
    const Type type = Type::tensor(dtype_, matrix_dims(roles, roles.rows, roles.columns));
    Value& y = make_.add(Op::kMatMul, {&left, &right}, type);
    const std::string letters = roles.batch + roles.rows + roles.columns;
    return {&reshaped(y, dims_of(equation_, letters)), letters};
  }

  // Both with all letters, of which a missing one is a dim of 1.
  Term multiplied(const Term& a, const Term& b, const Roles& roles) {
    const std::string all = roles.all();
    Value &left = spread(a, all), &right = spread(b, all);
    return {&make_.elementwise(Op::kMul, {&left, &right}, dtype_), all};
  }

  Value& spread(const Term& term, const std::string& all) {
    std::string own;
    std::vector<Dim> dims;
    for (const char letter : all) {
      const bool is_own = has(term.letters, letter);
      if (is_own) own += letter;
      dims.push_back(is_own ? equation_.dims.at(letter) : Dim::fixed(1));
    }
    return reshaped(*ordered(term, own).value, dims);
  }

  NodeMaker& make_;
  const Equation& equation_;
  DType dtype_;
};

bool can_decompose(const Node& node) {
  return node.op() == Op::kEinsum && is_removable(node) &&
         node.placement.engine == EngineId::kNone && dtype_is_float(node.output().type().dtype);
}

bool rewrite(Editor& editor, Node& node) {
  if (!can_decompose(node)) return false;
  const DType own = node.output().type().dtype;
  const DType wide = own == DType::kF64 ? own : DType::kF32;
  const auto equation = read_equation(node);
  if (!equation || !is_small(*equation, wide)) return false;
  NodeMaker make(editor, node);
  make.give(0, make.cast(Decomposer(make, *equation, wide).run(node), own));
  make.finish();
  return true;
}

}  // namespace

Result<bool> decompose_einsum(Graph& root, const Options&) { return on_every_node(root, rewrite); }

}  // namespace sluice
