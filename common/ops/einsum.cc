// Einsum, whose operands may have unknown ranks.
#include <algorithm>
#include <map>

#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/einsum_equation.h"
#include "common/ops/families.h"
#include "common/ops/infer_call.h"

namespace sluice {
namespace {

Result<EinsumTerms> read_terms(const InferCall& call) {
  auto terms = parse_einsum(call.node.get(attributes::Einsum::equation));
  if (!terms) return call.bad_node("attribute 'equation' has {}", terms.error().message);
  if (terms->operands.size() != call.input_count()) {
    return call.bad_node("attribute 'equation' has {} terms, the node has {} inputs",
                         terms->operands.size(), call.input_count());
  }
  return terms;
}

// The dims of the letters, from all inputs.
struct Letters {
  std::map<char, Dim> dims;
  Shape ellipsis = Dims{};
};

Result<void> read_operand(InferCall& call, size_t index, const std::string& term,
                          Letters& letters) {
  const Shape shape = call.shape(index);
  const bool ellipsis = term.find(kEinsumDots) != std::string::npos;
  if (!shape) {
    if (ellipsis) letters.ellipsis = std::nullopt;
    for (const char letter : term) letters.dims.try_emplace(letter, Dim::unknown());
    return {};
  }
  const size_t named = term.size() - (ellipsis ? 1 : 0);
  if (shape->size() < named || (!ellipsis && shape->size() > named)) {
    return call.bad_shape("{} has rank {}, the equation names {} dims", call.input_name(index),
                          shape->size(), named);
  }
  size_t next = 0;
  for (const char letter : term) {
    if (letter == kEinsumDots) {
      const auto first = shape->begin() + static_cast<std::ptrdiff_t>(next);
      const auto count = static_cast<std::ptrdiff_t>(shape->size() - named);
      SLUICE_ASSIGN(letters.ellipsis, call.broadcast(letters.ellipsis, Dims(first, first + count)));
      next += static_cast<size_t>(count);
      continue;
    }
    Dim& dim = letters.dims.try_emplace(letter, Dim::unknown()).first->second;
    const auto both =
        dim.is_unknown() ? std::optional((*shape)[next]) : call.math.broadcast(dim, (*shape)[next]);
    if (!both) return call.bad_shape("letter '{}' stands for different dims", letter);
    dim = *both;
    ++next;
  }
  return {};
}

Result<void> infer_einsum(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kNumericSet));
  for (size_t i = 1; i < call.input_count(); ++i) SLUICE_TRY(call.expect_same_dtype(i, 0));
  SLUICE_ASSIGN(const EinsumTerms equation, read_terms(call));
  Letters letters;
  for (size_t i = 0; i < equation.operands.size(); ++i)
    SLUICE_TRY(read_operand(call, i, equation.operands[i], letters));
  Dims dims;
  for (const char letter : equation.result) {
    if (letter != kEinsumDots && std::ranges::count(equation.result, letter) > 1)
      return call.bad_node("attribute 'equation' has '{}' twice in its result", letter);
    if (letter == kEinsumDots) {
      if (!letters.ellipsis) return call.give(0, call.dtype(0), std::nullopt);
      dims.insert(dims.end(), letters.ellipsis->begin(), letters.ellipsis->end());
      continue;
    }
    const auto found = letters.dims.find(letter);
    if (found == letters.dims.end())
      return call.bad_node("attribute 'equation' has '{}' in its result alone", letter);
    dims.push_back(found->second);
  }
  return call.give(0, call.dtype(0), std::move(dims));
}

constexpr OpRow kEinsumRows[] = {
    {Op::kEinsum, 1, -1, 1, 1, 0, attribute_rows::Einsum, infer_einsum}};

}  // namespace

std::span<const OpRow> einsum_rows() { return kEinsumRows; }

}  // namespace sluice
