#include "common/omfile/type_sizes.h"

#include <algorithm>

#include "common/base/dtype.h"
#include "common/symbolic/expression.h"

namespace sluice {
namespace {

int64_t floor_divide(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
}

Result<int64_t> apply(ExpressionOp op, int64_t a, int64_t b) {
  int64_t value = 0;
  switch (op) {
    case ExpressionOp::kAdd:
      if (!__builtin_add_overflow(a, b, &value)) return value;
      break;
    case ExpressionOp::kMul:
      if (!__builtin_mul_overflow(a, b, &value)) return value;
      break;
    case ExpressionOp::kFloorDiv:
      if (b > 0) return floor_divide(a, b);
      return make_error(ErrorCode::kBadBinding, "with these inputs a size is {} divided by {}", a,
                        b);
    case ExpressionOp::kMin:
      return std::min(a, b);
    default:  // kMax: others were refused
      return std::max(a, b);
  }
  return make_error(ErrorCode::kBadBinding, "with these inputs a size does not fit 64 bits");
}

bool is_operator(ExpressionOp op) {
  return op == ExpressionOp::kAdd || op == ExpressionOp::kMul || op == ExpressionOp::kFloorDiv ||
         op == ExpressionOp::kMin || op == ExpressionOp::kMax;
}

std::optional<int64_t> extent_of(const pb::TypeDef& type, int dim,
                                 std::span<const int64_t> expressions) {
  if (type.dims(dim) >= 0) return type.dims(dim);
  if (expressions.empty() || dim >= type.dim_expression_size() || type.dim_expression(dim) == 0)
    return std::nullopt;
  const int64_t value = expressions[type.dim_expression(dim) - 1];
  return value < 0 ? std::nullopt : std::optional(value);
}

}  // namespace

Result<std::optional<uint64_t>> dense_bytes(const pb::TypeDef& type,
                                            std::span<const int64_t> expressions) {
  if (type.kind() != pb::VALUE_TENSOR || type.unranked())
    return make_error(ErrorCode::kUnsupportedPart, "a type is no tensor of some rank");
  if (!dtype_is_valid(static_cast<int>(type.dtype())))
    return make_error(ErrorCode::kBadCompiledModel, "unknown dtype {}", type.dtype());
  uint64_t elements = 1;
  for (int dim = 0; dim < type.dims_size(); ++dim) {
    const auto extent = extent_of(type, dim, expressions);
    if (!extent) return std::optional<uint64_t>();
    if (__builtin_mul_overflow(elements, static_cast<uint64_t>(*extent), &elements) ||
        elements > (uint64_t{1} << 56)) {
      return make_error(ErrorCode::kBadCompiledModel, "a type has impossibly many elements");
    }
  }
  return std::optional<uint64_t>(dtype_bytes(static_cast<DType>(type.dtype()), elements));
}

StorageMap storage_map_of(const pb::StorageDef& def) {
  StorageMap map;
  for (int i = 0; i < def.dim_size(); ++i)
    map.push_back({static_cast<int32_t>(def.dim(i)), def.divisor(i), def.modulus(i)});
  return map;
}

Result<TypeSizes> TypeSizes::bind(const pb::ModelDef& model, std::span<const int64_t> symbols) {
  TypeSizes sizes(model);
  const pb::SizesDef& def = model.sizes();
  std::vector<int64_t>& values = sizes.expressions_;
  values.reserve(static_cast<size_t>(def.expression_op_size()));
  for (int i = 0; i < def.expression_op_size(); ++i) {
    const auto op = static_cast<ExpressionOp>(def.expression_op(i));
    const int64_t a = def.expression_a(i);
    if (op == ExpressionOp::kConstant) {
      values.push_back(a);
    } else if (op == ExpressionOp::kSymbol) {
      values.push_back(symbols[static_cast<size_t>(a)]);
    } else {
      SLUICE_ASSIGN(const int64_t value, apply(op, values[static_cast<size_t>(a)],
                                               values[static_cast<size_t>(def.expression_b(i))]));
      values.push_back(value);
    }
  }
  return sizes;
}

std::optional<int64_t> TypeSizes::extent(uint32_t type, int dim) const {
  return extent_of(model_->types(static_cast<int>(type)), dim, expressions_);
}

std::optional<std::vector<int64_t>> TypeSizes::extents(uint32_t type) const {
  std::vector<int64_t> extents;
  for (int dim = 0; dim < model_->types(static_cast<int>(type)).dims_size(); ++dim) {
    const auto one = extent(type, dim);
    if (!one) return std::nullopt;
    extents.push_back(*one);
  }
  return extents;
}

Result<std::optional<uint64_t>> TypeSizes::bytes(uint32_t type) const {
  return dense_bytes(model_->types(static_cast<int>(type)), expressions_);
}

bool TypeSizes::is_fixed(uint32_t type) const {
  const pb::TypeDef& def = model_->types(static_cast<int>(type));
  return !def.unranked() &&
         std::all_of(def.dims().begin(), def.dims().end(), [](int64_t dim) { return dim >= 0; });
}

bool TypeSizes::is_bindable(uint32_t type) const {
  const pb::TypeDef& def = model_->types(static_cast<int>(type));
  if (def.unranked()) return false;
  for (int dim = 0; dim < def.dims_size(); ++dim) {
    if (def.dims(dim) < 0 && (dim >= def.dim_expression_size() || def.dim_expression(dim) == 0))
      return false;
  }
  return true;
}

Result<void> verify_sizes(const pb::ModelDef& model) {
  const pb::SizesDef& def = model.sizes();
  const auto bad = [](const char* what, int index) {
    return make_error(ErrorCode::kBadCompiledModel, "size {} {}", index, what);
  };
  const int count = def.expression_op_size();
  if (def.expression_a_size() != count || def.expression_b_size() != count)
    return bad("differs in its columns", count);
  for (int i = 0; i < count; ++i) {
    const auto op = static_cast<ExpressionOp>(def.expression_op(i));
    const int64_t a = def.expression_a(i), b = def.expression_b(i);
    if (op == ExpressionOp::kConstant) continue;
    if (op == ExpressionOp::kSymbol) {
      if (a < 0 || a >= def.symbols_size()) return bad("is a symbol that is not listed", i);
      continue;
    }
    if (!is_operator(op)) return bad("is of an unknown kind", i);
    if (a < 0 || a >= i || b < 0 || b >= i) return bad("is made of later ones", i);
  }
  if (def.required_a_size() != def.required_b_size() ||
      def.required_a_size() != def.required_words_size())
    return bad("is required of nothing", def.required_a_size());
  for (int i = 0; i < def.required_a_size(); ++i) {
    const auto limit = static_cast<uint32_t>(count);
    if (def.required_a(i) >= limit || def.required_b(i) >= limit)
      return bad("of a node is not listed", i);
  }
  for (const pb::SymbolDef& symbol : def.symbols()) {
    const bool has_input = symbol.input() < static_cast<uint32_t>(model.inputs_size());
    const uint32_t type = has_input ? model.inputs(static_cast<int>(symbol.input())).type() : 0;
    const bool has_type = has_input && type < static_cast<uint32_t>(model.types_size());
    const bool has_axis =
        has_type && model.types(static_cast<int>(type)).kind() == pb::VALUE_TENSOR &&
        symbol.axis() < static_cast<uint32_t>(model.types(static_cast<int>(type)).dims_size());
    if (!has_axis)
      return make_error(ErrorCode::kBadCompiledModel, "the symbol '{}' is the dim of no input",
                        symbol.name());
  }
  for (const pb::TypeDef& type : model.types()) {
    const bool fits =
        type.dim_expression_size() == 0 || type.dim_expression_size() == type.dims_size();
    const bool exists = std::all_of(
        type.dim_expression().begin(), type.dim_expression().end(),
        [&](uint32_t expression) { return expression <= static_cast<uint32_t>(count); });
    if (!fits || !exists)
      return make_error(ErrorCode::kBadCompiledModel,
                        "a type's dims are sizes that are not listed");
  }
  return {};
}

}  // namespace sluice
