#include "common/ops/refine.h"

#include "common/ops/dim_math.h"
#include "common/symbolic/any_symbol.h"

namespace sluice {
namespace {

// Returns true when a size is known only after some node ran.
bool waits_for_node(const ExpressionTable& table, ExpressionId id) {
  return any_symbol(table, id, [&](SymbolId symbol) {
    return table.symbol(symbol).origin == SymbolOrigin::kNodeResult;
  });
}

std::optional<Dim> refine_dim(Module& module, const Dim& known, const Dim& found) {
  if (known == found || found.is_unknown()) return known;
  if (known.is_unknown()) return found;
  DimMath math(module);
  if (math.is_differing(known, found)) return std::nullopt;
  if (known.is_fixed()) return known;
  if (found.is_fixed()) return found;
  ExpressionTable& table = module.expressions;
  const auto known_id = static_cast<ExpressionId>(known.value);
  const auto found_id = static_cast<ExpressionId>(found.value);
  const bool keep = !table.prove_equal(known_id, found_id) && waits_for_node(table, found_id) &&
                    !waits_for_node(table, known_id);
  return module.make_dim(table.renormalize(keep ? known_id : found_id));
}

std::string dim_text(const Module& module, const Dim& dim) {
  if (dim.is_unknown()) return "?";
  return dim.is_fixed() ? fmt::format("{}", dim.value)
                        : module.expressions.text(static_cast<ExpressionId>(dim.value));
}

}  // namespace

std::string type_text(const Module& module, const Type& type) {
  switch (type.kind) {
    case TypeKind::kUnknown:
      return "unknown";
    case TypeKind::kSequence:
      return fmt::format("sequence({})", type_text(module, module.type(type.element)));
    case TypeKind::kOptional:
      return fmt::format("optional({})", type_text(module, module.type(type.element)));
    case TypeKind::kMap:
      return fmt::format("map({}, {})", dtype_name(type.dtype),
                         type_text(module, module.type(type.element)));
    case TypeKind::kTensor:
      break;
  }
  std::string text(type.dtype == DType::kUndefined ? "?" : dtype_name(type.dtype));
  if (!type.ranked) return text + " of unknown rank";
  text += "[";
  for (const Dim& dim : type.dims) text += (text.back() == '[' ? "" : ", ") + dim_text(module, dim);
  return text + "]";
}

std::optional<Type> refine(Module& module, const Type& known, const Type& found) {
  if (known == found || found.kind == TypeKind::kUnknown) return known;
  if (known.kind == TypeKind::kUnknown) return found;
  if (known.kind != found.kind) return std::nullopt;
  Type result = known;
  if (result.dtype == DType::kUndefined) result.dtype = found.dtype;
  if (found.dtype != DType::kUndefined && found.dtype != result.dtype) return std::nullopt;
  if (!known.is_tensor()) {
    const auto element = refine(module, module.type(known.element), module.type(found.element));
    if (!element) return std::nullopt;
    result.element = module.intern(*element);
    return result;
  }
  if (!found.ranked) return result;
  result.ranked = true;
  if (!known.ranked) {
    result.dims = found.dims;
    return result;
  }
  if (known.dims.size() != found.dims.size()) return std::nullopt;
  for (size_t i = 0; i < result.dims.size(); ++i) {
    const auto dim = refine_dim(module, known.dims[i], found.dims[i]);
    if (!dim) return std::nullopt;
    result.dims[i] = *dim;
  }
  return result;
}

std::optional<Type> generalize(Module& module, const Type& a, const Type& b) {
  if (a == b) return a;
  if (a.kind == TypeKind::kUnknown) return b.is_tensor() ? Type::unranked(b.dtype) : b;
  if (b.kind == TypeKind::kUnknown) return generalize(module, b, a);
  if (a.kind != b.kind ||
      (a.dtype != b.dtype && a.dtype != DType::kUndefined && b.dtype != DType::kUndefined))
    return std::nullopt;
  Type result = a;
  if (result.dtype == DType::kUndefined) result.dtype = b.dtype;
  if (!a.is_tensor()) {
    const auto element = generalize(module, module.type(a.element), module.type(b.element));
    if (!element) return std::nullopt;
    result.element = module.intern(*element);
    return result;
  }
  if (!a.ranked || !b.ranked || a.dims.size() != b.dims.size()) return Type::unranked(result.dtype);
  DimMath math(module);
  for (size_t i = 0; i < result.dims.size(); ++i) {
    if (!math.is_equal(a.dims[i], b.dims[i])) result.dims[i] = Dim::unknown();
  }
  return result;
}

}  // namespace sluice
