// Makes matrix products, transpositions and sums of an Einsum, operand by operand:
//
//   before:  %y = Einsum(%a, %b) {equation = "bik,bjk->bij"}
//   after:   %1 = Transpose(%b) {perm = [0, 2, 1]}   %y = MatMul(%a, %1)
//
// Letters that one operand alone has and nothing else wants are summed first. Of the letters of two
// operands those that are wanted later are the product's batch, and the others are its sum; several
// letters of rows, columns or sums become one dim. einsum_product.h says in which order, so that
// few Transposes remain. Without a sum, or for doubles, it is a Mul and a ReduceSum. An axis of 1
// that broadcasts is no letter of its operand.
//
// Legal because this is the operator's definition; f16 and bf16 are computed in f32. The node stays
// where a letter occurs twice in a term, which is a diagonal, or stands for dims that may differ or
// for none, where a Mul would have a large result to be summed, and where an annotation places or
// keeps it.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/ops/attributes.h"
#include "common/ops/einsum_equation.h"
#include "common/pass/editor.h"
#include "stages/optimize/constants.h"
#include "stages/optimize/node_maker.h"
#include "stages/optimize/passes/einsum_product.h"
#include "stages/optimize/passes/passes.h"

namespace sluice {
namespace {

constexpr int64_t kMaxProducts = int64_t{1} << 20;  // elements of a Mul that are summed

bool has_repeats(std::string term) {
  std::sort(term.begin(), term.end());
  return std::adjacent_find(term.begin(), term.end()) != term.end();
}

struct Equation {
  std::vector<std::string> operands;  // see EinsumEquation
  std::string result;
  EinsumDims dims;
  std::vector<std::vector<int64_t>> broadcast;  // of each operand, the axes that have no letter
};

// Adds the dims of an operand's letters: each stands for one dim, and not for none. An axis of 1
// broadcasts to what other operands have.
bool take_dims(const Type& type, const std::string& term, std::map<char, Dim>& dims) {
  for (size_t i = 0; i < term.size(); ++i) {
    Dim& dim = dims.try_emplace(term[i], type.dims[i]).first->second;
    if (dim == Dim::fixed(1)) dim = type.dims[i];
    if (type.dims[i] != dim && type.dims[i] != Dim::fixed(1)) return false;
    if (dim == Dim::fixed(0)) return false;
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
  Equation equation{read->operands, read->result, {node.graph().module(), {}}, {}};
  std::map<char, Dim>& dims = equation.dims.dims;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (!take_dims(node.input(i)->type(), read->operands[i], dims)) return std::nullopt;
  }
  const bool are_known =
      std::ranges::all_of(equation.result, [&](char letter) { return dims.contains(letter); });
  return are_known && !has_repeats(equation.result) ? std::optional(equation) : std::nullopt;
}

// Leaves the letters of axes that broadcast out of their operands.
void drop_broadcast_axes(const Node& node, Equation& equation) {
  for (size_t operand = 0; operand < equation.operands.size(); ++operand) {
    const std::string term = std::exchange(equation.operands[operand], std::string());
    std::vector<int64_t>& axes = equation.broadcast.emplace_back();
    for (size_t i = 0; i < term.size(); ++i) {
      if (node.input(operand)->type().dims[i] == equation.dims.dims.at(term[i]))
        equation.operands[operand] += term[i];
      else
        axes.push_back(static_cast<int64_t>(i));
    }
  }
}

// A value with a letter for each dim.
struct Term {
  Value* value = nullptr;
  std::string letters;
};

// The letters that the operands after one, or the result, have.
std::string wanted_after(const Equation& equation, size_t operand) {
  std::string wanted = equation.result;
  for (size_t i = operand + 1; i < equation.operands.size(); ++i) wanted += equation.operands[i];
  return wanted;
}

// Returns the product that joins the operand to the letters so far; nothing where a Mul does.
std::optional<EinsumProduct> find_product(const Equation& equation, size_t operand, DType dtype,
                                          const std::string& a, const std::string& b) {
  const std::string wanted = wanted_after(equation, operand);
  if (dtype != DType::kF32 || einsum_roles(a, b, wanted).sum.empty()) return std::nullopt;
  const bool is_last = operand + 1 == equation.operands.size();
  return choose_einsum_product(equation.dims, a, b, wanted,
                               is_last ? equation.result : std::string());
}

// Returns whether a Mul of two operands has no more elements than there are to be stored or summed.
bool is_small(const Equation& equation, size_t operand, DType dtype, const EinsumRoles& roles) {
  const bool is_result = operand + 1 == equation.operands.size() && roles.sum.empty();
  const std::string all = roles.batch + roles.sum + roles.rows + roles.columns;
  const auto count = Type::tensor(dtype, equation.dims.of(all)).element_count();
  return is_result || (count && *count <= kMaxProducts);
}

// Returns whether every pair of operands is joined by a product or by a small Mul.
bool are_small(const Equation& equation, DType dtype) {
  std::string sum = equation.operands[0];
  for (size_t i = 1; i < equation.operands.size(); ++i) {
    const std::string wanted = wanted_after(equation, i), other = equation.operands[i];
    sum = letters_among(sum, other + wanted);
    const std::string own = letters_among(other, sum + wanted);
    const EinsumRoles roles = einsum_roles(sum, own, wanted);
    if (!find_product(equation, i, dtype, sum, own) && !is_small(equation, i, dtype, roles))
      return false;
    sum = roles.batch + roles.rows + roles.columns;
  }
  return true;
}

class EinsumDecomposer {
 public:
  EinsumDecomposer(NodeMaker& make, const Equation& equation, DType dtype)
      : make_(make), equation_(equation), dtype_(dtype) {}

  Value& run(const Node& node) {
    Term sum = operand(node, 0);
    for (size_t i = 1; i < node.input_count(); ++i) {
      const std::string wanted = wanted_after(equation_, i);
      const Term other = operand(node, i);
      sum = summed(sum, other.letters + wanted);
      const Term own = summed(other, sum.letters + wanted);
      const auto joined = find_product(equation_, i, dtype_, sum.letters, own.letters);
      sum = joined ? product(sum, own, *joined)
                   : multiplied(sum, own, einsum_roles(sum.letters, own.letters, wanted));
    }
    return *ordered(summed(sum, equation_.result), equation_.result).value;
  }

 private:
  Term operand(const Node& node, size_t i) {
    Value& value = make_.cast(*node.input(i), dtype_);
    const std::vector<int64_t>& axes = equation_.broadcast[i];
    if (axes.empty()) return {&value, equation_.operands[i]};
    const Type type = Type::tensor(dtype_, equation_.dims.of(equation_.operands[i]));
    return {&make_.add(Op::kSqueeze, {&value, &add_ints(value.graph(), axes)}, type),
            equation_.operands[i]};
  }

  // Sums over the letters that are not wanted.
  Term summed(const Term& term, const std::string& wanted) {
    std::vector<int64_t> axes;
    Term result;
    for (size_t i = 0; i < term.letters.size(); ++i) {
      if (has_letter(wanted, term.letters[i]))
        result.letters += term.letters[i];
      else
        axes.push_back(static_cast<int64_t>(i));
    }
    if (axes.empty()) return term;
    Value& list = add_ints(term.value->graph(), axes);
    Node& made = make_.node(Op::kReduceSum, {term.value, &list},
                            Type::tensor(dtype_, equation_.dims.of(result.letters)));
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

  Value& matrix(const Term& term, const std::string& letters, const std::vector<Dim>& dims) {
    Value& x = *ordered(term, letters).value;
    return x.type().dims == dims ? x : make_.reshape(x, dims);
  }

  Term product(const Term& a, const Term& b, const EinsumProduct& joined) {
    const Term &first = joined.is_swapped ? b : a, &second = joined.is_swapped ? a : b;
    Value& left = matrix(first, joined.left_letters(), joined.left);
    Value& right = matrix(second, joined.right_letters(), joined.right);
    Value& y = make_.add(Op::kMatMul, {&left, &right}, Type::tensor(dtype_, joined.result));
    const std::string letters = joined.result_letters();
    return {&matrix({&y, letters}, letters, equation_.dims.of(letters)), letters};
  }

  // Both with all letters, of which a missing one is a dim of 1.
  Term multiplied(const Term& a, const Term& b, const EinsumRoles& roles) {
    const std::string all = roles.batch + roles.sum + roles.rows + roles.columns;
    Value &left = spread(a, all), &right = spread(b, all);
    return {&make_.elementwise(Op::kMul, {&left, &right}, dtype_), all};
  }

  Value& spread(const Term& term, const std::string& all) {
    std::vector<Dim> dims;
    std::vector<int64_t> missing;
    for (size_t i = 0; i < all.size(); ++i) {
      const bool is_own = has_letter(term.letters, all[i]);
      dims.push_back(is_own ? equation_.dims.dims.at(all[i]) : Dim::fixed(1));
      if (!is_own) missing.push_back(static_cast<int64_t>(i));
    }
    Value& own = *ordered(term, letters_among(all, term.letters)).value;
    if (missing.empty()) return own;
    return make_.add(Op::kUnsqueeze, {&own, &add_ints(own.graph(), missing)},
                     Type::tensor(dtype_, dims));
  }

  NodeMaker& make_;
  const Equation& equation_;
  DType dtype_;
};

bool can_decompose_einsum(const Node& node) {
  return node.op() == Op::kEinsum && is_removable(node) &&
         node.placement.engine == EngineId::kNone && dtype_is_float(node.output().type().dtype);
}

bool rewrite_einsum(Editor& editor, Node& node) {
  if (!can_decompose_einsum(node)) return false;
  const DType own = node.output().type().dtype;
  const DType wide = own == DType::kF64 ? own : DType::kF32;
  auto equation = read_equation(node);
  if (!equation) return false;
  drop_broadcast_axes(node, *equation);
  if (!are_small(*equation, wide)) return false;
  NodeMaker make(editor, node);
  make.give(0, make.cast(EinsumDecomposer(make, *equation, wide).run(node), own));
  make.finish();
  return true;
}

}  // namespace

Result<bool> decompose_einsum(Graph& root, const Options&) {
  return on_every_node(root, rewrite_einsum);
}

}  // namespace sluice
