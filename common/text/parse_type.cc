#include "common/text/parser.h"

namespace sluice::text {
namespace {

constexpr int kTypeDepthLimit = 64;
constexpr int kDimDepthLimit = ExpressionTable::kMaxDepth;

}  // namespace

Result<Dim> ModuleParser::parse_dim() {
  SLUICE_ASSIGN(const bool is_unknown, skip("?"));
  if (is_unknown) return Dim::unknown();
  const size_t offset = token().offset;
  SLUICE_ASSIGN(const ExpressionId sum, parse_sum());
  const Dim dim = module_.make_dim(sum);
  if (dim.is_fixed() && dim.value < 0)
    return lexer_.error_at(offset, fmt::format("a dimension is {}", dim.value));
  return dim;
}

Result<std::vector<Dim>> ModuleParser::parse_dims() {
  std::vector<Dim> dims;
  SLUICE_TRY(expect("["));
  while (!token().is("]")) {
    if (!dims.empty()) SLUICE_TRY(expect(","));
    SLUICE_ASSIGN(const Dim dim, parse_dim());
    dims.push_back(dim);
  }
  SLUICE_TRY(advance());
  return dims;
}

Result<DType> ModuleParser::parse_dtype() {
  auto dtype = dtype_from_name(token().text);
  if (token().is("undefined")) dtype = DType::kUndefined;
  if (token().kind != TokenKind::kWord || !dtype)
    return unexpected("an element type (f32, i64, …)");
  SLUICE_TRY(advance());
  return *dtype;
}

Result<TypeId> ModuleParser::parse_type(int depth) {
  if (depth > kTypeDepthLimit) return lexer_.error("types are nested too deep");
  SLUICE_ASSIGN(const bool is_unknown, skip("?"));
  if (is_unknown) return module_.intern(Type{});
  const bool is_sequence = token().is("seq"), is_optional = token().is("optional");
  if (is_sequence || is_optional || token().is("map")) {
    SLUICE_TRY(advance());
    SLUICE_TRY(expect("("));
    DType key = DType::kUndefined;
    if (!is_sequence && !is_optional) {
      SLUICE_ASSIGN(key, parse_dtype());
      SLUICE_TRY(expect(","));
    }
    SLUICE_ASSIGN(const TypeId element, parse_type(depth + 1));
    SLUICE_TRY(expect(")"));
    if (is_sequence) return module_.intern(Type::sequence(element));
    return module_.intern(is_optional ? Type::optional(element) : Type::map(key, element));
  }
  SLUICE_ASSIGN(const DType dtype, parse_dtype());
  if (!token().is("[")) return unexpected("'['");
  const size_t bracket = token().offset;
  SLUICE_TRY(advance());
  if (token().is("*")) {
    SLUICE_TRY(advance());
    SLUICE_TRY(expect("]"));
    return module_.intern(Type::unranked(dtype));
  }
  SLUICE_TRY(lexer_.jump(bracket));
  SLUICE_ASSIGN(std::vector<Dim> dims, parse_dims());
  return module_.intern(Type::tensor(dtype, std::move(dims)));
}

Result<StorageId> ModuleParser::parse_storage() {
  Storage storage;
  if (token().is("nhwc")) {
    storage.format = StorageFormat::kNhwc;
  } else if (!token().is("dense")) {
    return unexpected("a format (dense, nhwc)");
  }
  SLUICE_TRY(advance());
  SLUICE_ASSIGN(storage.dims, parse_dims());
  SLUICE_TRY(expect("bytes"));
  SLUICE_ASSIGN(storage.bytes, parse_dim());
  return module_.intern(storage);
}

// Applies one operation of a dimension; fails where the result would be too long.
Result<ExpressionId> ModuleParser::apply(ExpressionOp op, ExpressionId a, ExpressionId b) {
  if (!module_.expressions.stays_small(op, a, b)) return lexer_.error("the dimension is too long");
  return module_.expressions.make(op, a, b);
}

// Parses a sum: product (("+" | "-") product)*. "N -1" is a sum, too, though "-1" is one token.
Result<ExpressionId> ModuleParser::parse_sum(int depth) {
  if (depth > kDimDepthLimit) return lexer_.error("the dimension is nested too deep");
  SLUICE_ASSIGN(ExpressionId sum, parse_product(depth));
  while (token().is("+") || token().is("-") ||
         (token().kind == TokenKind::kNumber && token().text[0] == '-')) {
    const bool is_minus = token().is("-");
    if (token().kind == TokenKind::kMark) SLUICE_TRY(advance());
    SLUICE_ASSIGN(ExpressionId next, parse_product(depth));
    if (is_minus) next = module_.expressions.multiply(module_.expressions.constant(-1), next);
    SLUICE_ASSIGN(sum, apply(ExpressionOp::kAdd, sum, next));
  }
  return sum;
}

Result<ExpressionId> ModuleParser::parse_product(int depth) {
  SLUICE_ASSIGN(ExpressionId product, parse_factor(depth));
  while (token().is("*")) {
    SLUICE_TRY(advance());
    SLUICE_ASSIGN(const ExpressionId next, parse_factor(depth));
    SLUICE_ASSIGN(product, apply(ExpressionOp::kMul, product, next));
  }
  return product;
}

Result<ExpressionId> ModuleParser::parse_factor(int depth) {
  if (token().kind == TokenKind::kNumber) {
    SLUICE_ASSIGN(const int64_t value, take_int("a number"));
    return module_.expressions.constant(value);
  }
  SLUICE_ASSIGN(const bool is_nested, skip("("));
  if (is_nested) {
    SLUICE_ASSIGN(const ExpressionId inner, parse_sum(depth + 1));
    SLUICE_TRY(expect(")"));
    return inner;
  }
  const size_t offset = token().offset;
  const bool is_word = token().kind == TokenKind::kWord;
  SLUICE_ASSIGN(const std::string name, take_name("a dimension"));
  if (is_word && token().is("(")) return parse_function(name, depth);
  const auto symbol = symbols_.find(name);
  if (symbol == symbols_.end())
    return lexer_.error_at(offset, fmt::format("there is no symbol '{}' above", name));
  return module_.expressions.symbol_expression(symbol->second);
}

Result<ExpressionId> ModuleParser::parse_function(const std::string& name, int depth) {
  static const std::map<std::string, ExpressionOp> kFunctions = {
      {"floordiv", ExpressionOp::kFloorDiv},
      {"ceildiv", ExpressionOp::kCeilDiv},
      {"mod", ExpressionOp::kMod},
      {"min", ExpressionOp::kMin},
      {"max", ExpressionOp::kMax}};
  const auto function = kFunctions.find(name);
  if (function == kFunctions.end())
    return lexer_.error(fmt::format("there is no function '{}'", name));
  SLUICE_TRY(expect("("));
  SLUICE_ASSIGN(const ExpressionId a, parse_sum(depth + 1));
  SLUICE_TRY(expect(","));
  const size_t offset = token().offset;
  SLUICE_ASSIGN(const ExpressionId b, parse_sum(depth + 1));
  SLUICE_TRY(expect(")"));
  const bool divides =
      function->second != ExpressionOp::kMin && function->second != ExpressionOp::kMax;
  const auto divisor = module_.expressions.as_constant(b);
  if (divides && divisor && *divisor <= 0)
    return lexer_.error_at(offset, fmt::format("cannot divide by {}", *divisor));
  return apply(function->second, a, b);
}

}  // namespace sluice::text
