// Einsum: "bij,bjk->bik", with "..." for dims that broadcast. Without "->" the result has the
// letters that occur once, sorted.
#include <map>

#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/families.h"
#include "common/ops/infer_call.h"

namespace sluice {
namespace {

constexpr char kEllipsis = '.';  // stands for "..."

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Reads one term as letters, with kEllipsis in place of "...".
Result<std::string> read_term(const InferCall& call, std::string_view text) {
  std::string term;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text.substr(i, 3) == "..." && term.find(kEllipsis) == std::string::npos) {
      term += kEllipsis;
      i += 2;
    } else if (is_letter(text[i])) {
      term += text[i];
    } else {
      return call.bad_node("attribute 'equation' has '{}' where a letter is expected", text[i]);
    }
  }
  return term;
}

struct Equation {
  std::vector<std::string> inputs;
  std::string result;
};

std::string implied_result(const std::vector<std::string>& inputs) {
  std::map<char, int> counts;
  for (const std::string& term : inputs) {
    for (const char letter : term) ++counts[letter];
  }
  std::string result = counts.contains(kEllipsis) ? std::string(1, kEllipsis) : std::string();
  for (const auto& [letter, count] : counts) {
    if (letter != kEllipsis && count == 1) result += letter;
  }
  return result;
}

Result<Equation> read_equation(const InferCall& call) {
  const std::string text = call.node.get(attributes::Einsum::equation);
  const size_t arrow = text.find("->");
  std::string_view left = std::string_view(text).substr(0, arrow);
  Equation equation;
  while (true) {
    const size_t comma = left.find(',');
    SLUICE_ASSIGN(std::string term, read_term(call, left.substr(0, comma)));
    equation.inputs.push_back(std::move(term));
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  if (equation.inputs.size() != call.input_count()) {
    return call.bad_node("attribute 'equation' has {} terms, the node has {} inputs",
                         equation.inputs.size(), call.input_count());
  }
  if (arrow == std::string::npos) {
    equation.result = implied_result(equation.inputs);
  } else {
    SLUICE_ASSIGN(equation.result, read_term(call, std::string_view(text).substr(arrow + 2)));
  }
  return equation;
}

// The dims of the letters, from all inputs.
struct Letters {
  std::map<char, Dim> dims;
  Shape ellipsis = Dims{};
};

Result<void> read_operand(InferCall& call, size_t index, const std::string& term,
                          Letters& letters) {
  const Shape shape = call.shape(index);
  const bool ellipsis = term.find(kEllipsis) != std::string::npos;
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
    if (letter == kEllipsis) {
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
  SLUICE_ASSIGN(const Equation equation, read_equation(call));
  Letters letters;
  for (size_t i = 0; i < equation.inputs.size(); ++i)
    SLUICE_TRY(read_operand(call, i, equation.inputs[i], letters));
  Dims dims;
  for (const char letter : equation.result) {
    if (letter == kEllipsis) {
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

constexpr OpRow kRows[] = {{Op::kEinsum, 1, -1, 1, 1, 0, attribute_rows::Einsum, infer_einsum}};

}  // namespace

std::span<const OpRow> einsum_rows() { return kRows; }

}  // namespace sluice
