#include "common/symbolic/sum_text.h"
#include "common/text/names.h"
#include "common/text/printer.h"

namespace sluice {
namespace text {
namespace {

std::string dims_list(const Module& module, const std::vector<Dim>& dims) {
  std::string result = "[";
  for (const Dim& dim : dims) result += (result.size() > 1 ? ", " : "") + print_dim(module, dim);
  return result + "]";
}

}  // namespace

std::string print_expression(const ExpressionTable& table, ExpressionId id) {
  const Expression& e = table[id];
  const auto factor = [&](ExpressionId operand) {
    const std::string inner = print_expression(table, operand);
    return table[operand].op == ExpressionOp::kAdd ? "(" + inner + ")" : inner;
  };
  const auto call = [&](const char* name) {
    return fmt::format("{}({}, {})", name, print_expression(table, e.a),
                       print_expression(table, e.b));
  };
  switch (e.op) {
    case ExpressionOp::kConstant:
      return fmt::format("{}", e.value);
    case ExpressionOp::kSymbol:
      return spelled_word(table.symbol(static_cast<SymbolId>(e.value)).name);
    case ExpressionOp::kAdd:
      return sum_text(print_expression(table, e.a), print_expression(table, e.b),
                      begins_negative(table, e.b));
    case ExpressionOp::kMul:
      return factor(e.a) + "*" + factor(e.b);
    case ExpressionOp::kFloorDiv:
      return call("floordiv");
    case ExpressionOp::kCeilDiv:
      return call("ceildiv");
    case ExpressionOp::kMod:
      return call("mod");
    case ExpressionOp::kMin:
      return call("min");
    case ExpressionOp::kMax:
      return call("max");
  }
  return {};
}

std::string print_storage(const Module& module, const Storage& storage) {
  return storage_map_name(storage.map) + " " + dims_list(module, storage.dims) + " bytes " +
         print_dim(module, storage.bytes);
}

}  // namespace text

std::string print_dim(const Module& module, const Dim& dim) {
  if (dim.is_unknown()) return "?";
  return dim.is_fixed()
             ? fmt::format("{}", dim.value)
             : text::print_expression(module.expressions, static_cast<ExpressionId>(dim.value));
}

std::string print_type(const Module& module, TypeId id) {
  const Type& type = module.type(id);
  switch (type.kind) {
    case TypeKind::kUnknown:
      return "?";
    case TypeKind::kTensor:
      return std::string(dtype_name(type.dtype)) +
             (type.ranked ? text::dims_list(module, type.dims) : "[*]");
    case TypeKind::kSequence:
      return fmt::format("seq({})", print_type(module, type.element));
    case TypeKind::kOptional:
      return fmt::format("optional({})", print_type(module, type.element));
    case TypeKind::kMap:
      return fmt::format("map({}, {})", dtype_name(type.dtype), print_type(module, type.element));
  }
  return {};
}

}  // namespace sluice
