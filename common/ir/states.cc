#include "common/ir/states.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "common/ir/module.h"

namespace sluice {
namespace {

struct Pair {
  std::string output, input;
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    pieces.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return pieces;
}

Result<std::vector<Pair>> parse_pairs(const std::string& text) {
  std::vector<Pair> pairs;
  for (const std::string_view item : split(text, ',')) {
    const size_t equals = item.find('=');
    const std::string output(item.substr(0, equals));
    const std::string input(equals == std::string_view::npos ? "" : item.substr(equals + 1));
    if (output.empty() || input.empty() ||
        std::count(output.begin(), output.end(), '*') !=
            std::count(input.begin(), input.end(), '*')) {
      return make_error(ErrorCode::kBadOption,
                        "--state: '{}' is not OUTPUT=INPUT with as many * on both sides", item)
          .with_hint("for example --state 'present.*=past_key_values.*'");
    }
    pairs.push_back({output, input});
  }
  return pairs;
}

// Matches the name and returns the text of each * of the pattern, the shortest for each but the
// last.
std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view name) {
  const std::vector<std::string_view> pieces = split(pattern, '*');
  if (!name.starts_with(pieces[0])) return std::nullopt;
  if (pieces.size() == 1)
    return name == pattern ? std::optional(std::vector<std::string>()) : std::nullopt;
  std::vector<std::string> found;
  size_t at = pieces[0].size();
  for (size_t i = 1; i + 1 < pieces.size(); ++i) {
    const size_t next = name.find(pieces[i], at);
    if (next == std::string_view::npos) return std::nullopt;
    found.emplace_back(name.substr(at, next - at));
    at = next + pieces[i].size();
  }
  if (name.size() < at + pieces.back().size() || !name.ends_with(pieces.back()))
    return std::nullopt;
  found.emplace_back(name.substr(at, name.size() - at - pieces.back().size()));
  return found;
}

std::string fill(std::string_view pattern, const std::vector<std::string>& texts) {
  std::string name;
  size_t next = 0;
  for (const char c : pattern) name += c == '*' ? texts[next++] : std::string(1, c);
  return name;
}

Interval range_of(const ExpressionTable& expressions, const Dim& dim) {
  if (dim.is_fixed()) return Interval{dim.value, dim.value};
  return dim.is_expression() ? expressions.bounds(static_cast<ExpressionId>(dim.value))
                             : Interval{};
}

// Returns the least value of a sum of products where every symbol but that of the state is at least
// 1; nothing for other expressions.
std::optional<int64_t> min_in_use(const ExpressionTable& expressions, ExpressionId id,
                                  const Dim& state) {
  const Expression& e = expressions[id];
  if (e.op == ExpressionOp::kConstant) return e.value >= 0 ? std::optional(e.value) : std::nullopt;
  if (e.op == ExpressionOp::kSymbol) {
    const int64_t low = expressions.symbol(static_cast<SymbolId>(e.value)).low;
    return state == Dim::expression(id) ? low : std::max<int64_t>(low, 1);
  }
  if (e.op != ExpressionOp::kAdd && e.op != ExpressionOp::kMul) return std::nullopt;
  const auto a = min_in_use(expressions, e.a, state), b = min_in_use(expressions, e.b, state);
  if (!a || !b) return std::nullopt;
  int64_t value = 0;
  const bool overflows = e.op == ExpressionOp::kAdd ? __builtin_add_overflow(*a, *b, &value)
                                                    : __builtin_mul_overflow(*a, *b, &value);
  return overflows ? std::nullopt : std::optional(value);
}

// The sizes that an output can have in runs that are of use, which add something to the state.
Interval made_range(const ExpressionTable& expressions, const Dim& dim, const Dim& state) {
  Interval range = range_of(expressions, dim);
  if (dim.is_expression()) {
    const auto min = min_in_use(expressions, static_cast<ExpressionId>(dim.value), state);
    range.low = std::max(range.low, min.value_or(range.low));
  }
  return range;
}

// Returns "4", "at least 128" or "0 to 64".
std::string range_text(const Interval& range) {
  if (range.low == range.high) return fmt::format("{}", range.low);
  if (range.high == INT64_MAX) return fmt::format("at least {}", range.low);
  return fmt::format("{} to {}", range.low, range.high);
}

// Returns "64" or "past, 0 to 64".
std::string dim_text(const ExpressionTable& expressions, const Dim& dim, const Interval& range) {
  const std::string sizes = range_text(range);
  if (!dim.is_expression()) return sizes;
  const Expression& expression = expressions[static_cast<ExpressionId>(dim.value)];
  if (expression.op != ExpressionOp::kSymbol) return sizes;
  return fmt::format("'{}', {}", expressions.symbol(static_cast<SymbolId>(expression.value)).name,
                     sizes);
}

// The reason why values of one type cannot be used as the other, and a hint.
struct Mismatch {
  std::string reason, hint;
};

// Returns nothing where the output and the input have some size in common.
std::optional<Mismatch> find_mismatch(const ExpressionTable& expressions, const Dim& output,
                                      const Dim& input, size_t axis) {
  const Interval given = made_range(expressions, output, input),
                 taken = range_of(expressions, input);
  if (given.low <= taken.high && taken.low <= given.high) return std::nullopt;
  const bool is_bound = given.low > taken.high && taken.low != taken.high;
  return Mismatch{
      fmt::format("along axis {} the output has {}, and the input takes {}", axis,
                  dim_text(expressions, output, given), dim_text(expressions, input, taken)),
      is_bound ? "give smaller sizes to what is new, or the input's dim a larger "
                 "bound: --dim NAME=0..SIZE"
               : "a size that grows must be open in the input: no --dim NAME=SIZE, but "
                 "--dim NAME=0..SIZE"};
}

std::optional<Mismatch> find_mismatch(const ExpressionTable& expressions, const Type& output,
                                      const Type& input) {
  // The types are not inferred yet.
  if (output.kind == TypeKind::kUnknown || input.kind == TypeKind::kUnknown) return std::nullopt;
  const bool are_equal_dtypes = output.dtype == input.dtype || output.dtype == DType::kUndefined;
  if (!output.is_tensor() || !input.is_tensor() || input.dtype == DType::kString ||
      !are_equal_dtypes) {
    return Mismatch{"both must be tensors of one dtype, none of strings", ""};
  }
  if (!output.ranked || !input.ranked) return std::nullopt;
  if (output.rank() != input.rank()) {
    return Mismatch{
        fmt::format("the output has rank {}, and the input {}", output.rank(), input.rank()), ""};
  }
  for (size_t axis = 0; axis < output.dims.size(); ++axis) {
    if (auto mismatch = find_mismatch(expressions, output.dims[axis], input.dims[axis], axis))
      return mismatch;
  }
  return std::nullopt;
}

class Finder {
 public:
  explicit Finder(const Graph& root) : root_(root) {
    uint32_t index = 0;
    for (const Value* input : root.inputs()) {
      if (!input->is_constant()) inputs_[input->name()] = {index++, input};
    }
  }

  Result<void> add(const Pair& pair) {
    size_t found = 0;
    for (uint32_t k = 0; k < root_.outputs().size(); ++k) {
      const auto texts = match(pair.output, root_.outputs()[k]->name());
      if (!texts) continue;
      ++found;
      SLUICE_TRY(add_one(k, fill(pair.input, *texts)));
    }
    if (found > 0) return {};
    std::string names;
    for (const Value* output : root_.outputs())
      names += fmt::format("{}{}", names.empty() ? "" : ", ", output->name());
    return make_error(ErrorCode::kBadOption, "--state: no output is called '{}'", pair.output)
        .with_hint("the outputs are " + names);
  }

  std::vector<State> states() const {
    std::vector<State> states;
    for (const auto& [input, output] : found_) states.push_back({output, input});
    return states;
  }

 private:
  Result<void> add_one(uint32_t output, const std::string& name) {
    const Value& value = *root_.outputs()[output];
    const auto input = inputs_.find(name);
    if (input == inputs_.end()) {
      return make_error(
          ErrorCode::kBadOption,
          "--state: output '{}' is to be kept for input '{}', which the model does not have",
          value.name(), name);
    }
    const auto [index, placeholder] = input->second;
    if (auto mismatch =
            find_mismatch(root_.module().expressions, value.type(), placeholder->type())) {
      return make_error(ErrorCode::kBadOption,
                        "--state: output '{}' and input '{}' cannot be one state: {}", value.name(),
                        name, mismatch->reason)
          .with_hint(std::move(mismatch->hint));
    }
    if (!found_.emplace(index, output).second)
      return make_error(ErrorCode::kBadOption, "--state: input '{}' is paired twice", name);
    return {};
  }

  const Graph& root_;
  std::map<std::string, std::pair<uint32_t, const Value*>> inputs_;
  std::map<uint32_t, uint32_t> found_;  // output by input
};

}  // namespace

Result<std::vector<State>> find_states(const Graph& root, const std::string& text) {
  if (text.empty()) return std::vector<State>();
  SLUICE_ASSIGN(const std::vector<Pair> pairs, parse_pairs(text));
  Finder finder(root);
  for (const Pair& pair : pairs) SLUICE_TRY(finder.add(pair));
  return finder.states();
}

bool is_state_input(const std::string& text, std::string_view input) {
  if (text.empty()) return false;
  const auto pairs = parse_pairs(text);
  return pairs && std::ranges::any_of(*pairs, [&](const Pair& pair) {
           return match(pair.input, input).has_value();
         });
}

std::string state_option(const Module& module) {
  const auto option = module.options.find("state");
  return option == module.options.end() ? "" : option->second;
}

bool has_states(const Graph& root) { return !state_option(root.module()).empty(); }

bool may_append_to_state(const Node& node) {
  return node.op() == Op::kConcat && node.output().is_output() && node.input(0) != nullptr &&
         node.input(0)->is_input() && !node.input(0)->is_constant();
}

}  // namespace sluice
