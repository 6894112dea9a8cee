#include "common/symbolic/parse_expression.h"
#include "common/text/parser.h"

namespace sluice::text {
namespace {

constexpr int kTypeDepthLimit = 64;

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
  const bool is_dense = token().is("dense"), is_nhwc = token().is("nhwc");
  if (is_dense || is_nhwc) {
    SLUICE_TRY(advance());
  } else if (token().is("[")) {
    SLUICE_ASSIGN(storage.map, parse_storage_map(lexer_));
  } else {
    return unexpected("a storage (dense, nhwc, or a list of stored axes such as [0, 2, 1])");
  }
  SLUICE_ASSIGN(storage.dims, parse_dims());
  if (is_dense) storage.map = dense_map(storage.dims.size());
  if (is_nhwc) storage.map = nhwc_map(storage.dims.size());
  SLUICE_TRY(expect("bytes"));
  SLUICE_ASSIGN(storage.bytes, parse_dim());
  return module_.intern(storage);
}

// Parses a sum over the symbols above.
Result<ExpressionId> ModuleParser::parse_sum() {
  return ExpressionParser(lexer_, module_.expressions, symbols_).parse();
}

}  // namespace sluice::text
